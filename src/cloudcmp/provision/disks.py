"""A separate volume for test files: finds it in the guest, formats and mounts it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cloudcmp.agent.host import run_host_script
from cloudcmp.errors import ProviderFault
from cloudcmp.model.offering import Volume
from cloudcmp.model.remote import Shell

_WHOLE_DISK = re.compile(r"(?:[svx]+d[a-z]+|nvme\d+n\d+)")
_FORMAT_S = 120.0
_GIB = 2**30
_KIB = 2**10
# NVMe and SCSI disks have a model, those of our own guests a serial number.
_IDENTITIES = (
    'for file in /sys/block/*/device/model /sys/block/*/serial; do line=; read -r line <"$file"; '
    'echo "$file $line"; done 2>/dev/null'
)
_IDENTITY_LINE = re.compile(r"/sys/block/([a-z0-9]+)/(?:device/model|serial) (.*\S)\s*")
_VOLUMES = ("Amazon Elastic Block Store", "PersistentDisk", "nvme_card-pd", "cloudcmp-volume")  # Google's two are R
_NOT_VOLUMES = ("Instance Storage", "cloudcmp-s")  # disks of the host; state and seed of a guest


@dataclass(frozen=True, slots=True)
class Disk:
    """A whole unused disk of a guest: its device, its size, and its model or serial number."""

    device: str
    size_bytes: int
    identity: str = ""

    def __str__(self) -> str:
        return f"{self.device} of {self.size_bytes / _GIB:g} GiB"


async def mounted_volume(shell: Shell, volume: Volume | None) -> str | None:
    """Formats and mounts a separate volume in the guest and returns its folder; None if there is none."""
    if volume is None or volume.root:
        return None
    tables = await shell.run(["cat", "/proc/partitions", "/proc/mounts"])
    output = await shell.run(["sh", "-c", _IDENTITIES])
    disk = choose_device(volume, blank_disks(_text(tables.out), identities(_text(output.out))))
    folder = await run_host_script(shell, "disk", disk, deadline_s=_FORMAT_S)
    if not re.fullmatch(r"/[A-Za-z0-9/_-]+", folder):
        raise ProviderFault.at(str(volume), f"{disk} could not be formatted and mounted", "see the machine's console")
    return folder


def choose_device(volume: Volume, blank: tuple[Disk, ...]) -> str:
    """Returns the device of the volume among unused disks; raises ProviderFault if not exactly one fits."""
    candidates = [disk for disk in blank if not any(word in disk.identity for word in _NOT_VOLUMES)]
    if len(candidates) > 1:
        named = [disk for disk in candidates if any(word in disk.identity for word in _VOLUMES)]
        candidates = [disk for disk in named or candidates if _fits(volume, disk)]
    if len(candidates) == 1:
        return candidates[0].device
    if not blank:
        raise ProviderFault.at(str(volume), "the machine shows no disk of its own for it", "see its console")
    what = f"it is unclear which disk it is: {', '.join(map(str, blank))}"
    raise ProviderFault.at(str(volume), what, "ask for a size that no disk of the machine has")


def _fits(volume: Volume, disk: Disk) -> bool:
    """True if a disk has the requested size: clouds sell whole GiB, tables count whole KiB."""
    wanted = volume.size_bytes
    return wanted is None or any(abs(disk.size_bytes - size) < _KIB for size in (wanted, -(-wanted // _GIB) * _GIB))


def blank_disks(tables: str, identity: Mapping[str, str]) -> tuple[Disk, ...]:
    """Returns the whole disks without partitions that are not mounted, from /proc/partitions and /proc/mounts."""
    rows = [line.split() for line in tables.splitlines() if re.fullmatch(r"\s*\d+\s+\d+\s+\d+\s+\S+", line)]
    names = [row[3] for row in rows]
    mounted = {line.split()[0] for line in tables.splitlines() if line.startswith("/dev/")}
    return tuple(
        Disk(f"/dev/{name}", int(blocks) * _KIB, identity.get(name, ""))
        for _, _, blocks, name in rows
        if _WHOLE_DISK.fullmatch(name)
        and not any(other != name and other.startswith(name) for other in names)
        and f"/dev/{name}" not in mounted
    )


def identities(output: str) -> dict[str, str]:
    """Returns each disk's model or serial number, by its name."""
    names: dict[str, str] = {}
    for line in output.splitlines():
        match = _IDENTITY_LINE.fullmatch(line)
        if match is not None:
            names[match[1]] = f"{names.get(match[1], '')} {match[2]}".strip()
    return names


def _text(out: bytes) -> str:
    return out.decode("utf-8", errors="replace")
