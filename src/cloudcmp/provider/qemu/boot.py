"""The boot media of a guest: the small image with a few own files, or a disk image with a cloud-init seed."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import Refused
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.qemu import archive
from cloudcmp.provider.qemu.image import Image
from cloudcmp.provider.qemu.machine import OUT_MAC, mac_of
from cloudcmp.provider.qemu.media import nocloud, overlay

VOLUME_BYTES = 2**30  # the default size of a volume
_STATE_BYTES = 64 * 1024
_CONSOLE = "console=ttyS0 quiet panic=1 no_timer_check"


@dataclass(frozen=True, slots=True)
class DiskImage:
    """A disk image with cloud-init; also a kernel and an initial archive if it has no boot loader."""

    disk: Path
    kernel: Path | None = None
    initrd: Path | None = None


def write_disks(
    folder: Path, image: Image | DiskImage, request: CreateRequest, ends_at: float, private_address: str
) -> tuple[str, ...]:
    """Writes a guest's disks, a separate volume last; returns qemu's arguments. Raises Refused."""
    if request.access is None:
        raise Refused.at("qemu", "a guest without keys could not be reached", "create it with access")
    if isinstance(image, Image):
        arguments = _write_small(folder, image, request, ends_at, private_address)
    else:
        arguments = _write_full(folder, image, request, private_address)
    volume = request.volume
    if volume is not None and not volume.root:
        create_blank_disk(folder / "volume", volume.size_bytes or VOLUME_BYTES)
        arguments += drive_arguments("volume")
    return tuple(arguments)


def _write_small(folder: Path, image: Image, request: CreateRequest, ends_at: float, private_address: str) -> list[str]:
    if request.volume is not None and request.volume.root:
        raise Refused.at("qemu", "the small image has no system disk", "choose another image, or root: false")
    if request.access is None:
        raise ValueError(request.slot)
    texts = {
        "host_key": request.access.host.private, "authorized_keys": request.access.client_public,
        "ttl_s": f"{request.ttl_s:.0f}", "ends_at": f"{ends_at:.0f}", "name": request.name,
        "private_address": private_address,
    }  # fmt: skip
    entries = [archive.file(f"etc/cloudcmp/{name}", text.encode(), 0o600) for name, text in texts.items()]
    place = folder / "initrd"
    shutil.copyfile(image.initrd, place)
    place.chmod(0o600)
    with place.open("ab") as file:
        file.write(archive.pack(entries))
    create_blank_disk(folder / "state", _STATE_BYTES)
    return ["-kernel", str(image.kernel), "-initrd", "initrd", "-append", _CONSOLE, *drive_arguments("state")]


def _write_full(folder: Path, image: DiskImage, request: CreateRequest, private_address: str) -> list[str]:
    size_bytes = request.volume.size_bytes if request.volume is not None and request.volume.root else None
    overlay(folder / "root", image.disk, size_bytes)
    if request.access is None:
        raise ValueError(request.slot)
    seed = folder / "seed"
    seed.touch(0o600)
    seed.write_bytes(nocloud(_nocloud_texts(request, request.access.user_data, private_address)))
    arguments = [*drive_arguments("root", "qcow2"), *drive_arguments("seed", readonly=True)]
    if image.kernel is not None:
        arguments += ["-kernel", str(image.kernel), "-append", f"root=/dev/vda rw {_CONSOLE}"]
    if image.initrd is not None:
        arguments += ["-initrd", str(image.initrd)]
    return arguments


def _nocloud_texts(request: CreateRequest, user_data: str, private_address: str) -> Mapping[str, str]:
    """The files for cloud-init; the first network card uses DHCP, the second has the study's private address."""
    network = {
        "version": 2,
        "ethernets": {
            "out": {"match": {"macaddress": OUT_MAC}, "dhcp4": True},
            "peers": {"match": {"macaddress": mac_of(private_address)}, "addresses": [private_address]},
        },
    }
    name = {"instance-id": request.token, "local-hostname": request.name}
    return {"user-data": user_data, "meta-data": json.dumps(name), "network-config": json.dumps(network)}


def create_blank_disk(place: Path, size_bytes: int) -> None:
    """Creates a sparse disk of zeros."""
    with place.open("wb") as file:
        file.truncate(size_bytes)
    place.chmod(0o600)


def drive_arguments(name: str, form: str = "raw", *, readonly: bool = False) -> list[str]:
    """The arguments for a disk in the guest's folder."""
    mode = "on" if readonly else "off"
    return [
        "-drive", f"file={name},id={name},if=none,format={form},readonly={mode}",
        "-device", f"virtio-blk-pci,drive={name},serial=cloudcmp-{name}",
    ]  # fmt: skip
