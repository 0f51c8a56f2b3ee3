"""A volume of its own, made ready for test files: found in the guest, formatted, mounted."""

import re

from cloudcmp.agent.host import on_host
from cloudcmp.errors import ProviderFault
from cloudcmp.model.offering import Volume
from cloudcmp.model.remote import Shell

_WHOLE_DISK = re.compile(r"(?:[svx]+d[a-z]+|nvme\d+n\d+)")
_FORMAT_S = 120.0


async def mounted_volume(shell: Shell, volume: Volume | None) -> str | None:
    """The folder of a separate volume, formatted and mounted in the guest; None where there is none."""
    if volume is None or volume.root:
        return None
    tables = await shell.run(["cat", "/proc/partitions", "/proc/mounts"])
    disk = blank_disk(tables.out.decode("utf-8", errors="replace"))
    if disk is None:
        raise ProviderFault.at(str(volume), "the machine shows no disk of its own for it", "see its console")
    folder = await on_host(shell, "disk", disk, deadline_s=_FORMAT_S)
    if not re.fullmatch(r"/[A-Za-z0-9/_-]+", folder):
        raise ProviderFault.at(str(volume), f"{disk} could not be formatted and mounted", "see the machine's console")
    return folder


def blank_disk(tables: str) -> str | None:
    """The last whole disk that has no partitions and is not mounted, in /proc/partitions followed by /proc/mounts."""
    names = [line.split()[3] for line in tables.splitlines() if re.fullmatch(r"\s*\d+\s+\d+\s+\d+\s+\S+", line)]
    mounted = {line.split()[0] for line in tables.splitlines() if line.startswith("/dev/")}
    blank = [
        name
        for name in names
        if _WHOLE_DISK.fullmatch(name)
        and not any(other != name and other.startswith(name) for other in names)
        and f"/dev/{name}" not in mounted
    ]
    return f"/dev/{blank[-1]}" if blank else None
