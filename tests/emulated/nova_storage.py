"""The calls of the emulated Cinder and Glance."""

from collections.abc import Callable
from typing import Any

from tests.emulated.nova_lives import Lives
from tests.emulated.nova_state import GIB, IMAGES, PROJECT, VOLUME_TYPES, Image, Region, Volume
from tests.emulated.nova_wire import Asked, empty, error, listed, said
from tests.emulated.wire import Answer


class Storage:
    """The Cinder and the Glance of one cloud, all of their regions."""

    def __init__(self, lives: Lives, base: Callable[[], str]) -> None:
        self._lives, self._base = lives, base

    def answer(self, region: Region, this: Asked) -> Answer:
        """Carry out a call that may be made."""
        calls: dict[str, Callable[[Region, Asked], Answer]] = {
            "ShowVolumeLimits": self._limits,
            "ListVolumeTypes": self._types,
            "ListVolumes": self._list,
            "ShowVolume": self._show,
            "DeleteVolume": self._delete,
            "SetVolumeMetadata": self._set,
            "ListImages": self._images,
            "ShowImage": self._image,
        }
        known = calls.get(this.action)
        return error(this.service, 404, "The resource could not be found.") if known is None else known(region, this)

    def versions(self, region: str, this: Asked) -> Answer:
        """What these speak, which anybody may ask."""
        name = {"volume": "v3.0", "image": "v2.17"}[this.service]
        at = f"{self._base()}/{region}/{this.service}/{name.partition('.')[0]}/"
        version = {"id": name, "status": "CURRENT", "links": [{"rel": "self", "href": at}]}
        if this.service == "volume":
            version |= {"version": "3.71", "min_version": "3.0"}
        return said({"versions": [version]}, 300 if this.path in {"", "/"} else 200)

    def _limits(self, region: Region, this: Asked) -> Answer:
        used = list(region.volumes.values())
        absolute = {"maxTotalVolumes": 100, "totalVolumesUsed": len(used),
                    "maxTotalVolumeGigabytes": self._lives.faults.gigabytes,
                    "totalGigabytesUsed": sum(one.size for one in used)}  # fmt: skip
        return said({"limits": {"rate": [], "absolute": absolute}})

    def _types(self, region: Region, this: Asked) -> Answer:
        return said({"volume_types": [{"id": name, "name": name, "is_public": True} for name in VOLUME_TYPES]})

    def _list(self, region: Region, this: Asked) -> Answer:
        items = [_volume(one) for one in region.volumes.values()]
        return listed("volumes", items, this, self._base(), self._lives.faults.page)

    def _show(self, region: Region, this: Asked) -> Answer:
        found = region.volumes.get(this.id)
        return said({"volume": _volume(found)}) if found else _missing(this.id)

    def _delete(self, region: Region, this: Asked) -> Answer:
        found = region.volumes.get(this.id)
        if found is None:
            return _missing(this.id)
        if found.server:
            return error("volume", 400, "Invalid volume: Volume status must be available or error, but is in-use.")
        del region.volumes[this.id]
        return empty(202)

    def _set(self, region: Region, this: Asked) -> Answer:
        found = region.volumes.get(this.id)
        if found is None:
            return _missing(this.id)
        found.metadata |= this.body["metadata"]
        return said({"metadata": found.metadata})

    def _images(self, region: Region, this: Asked) -> Answer:
        items = [_image(one) for one in IMAGES]
        return listed("images", items, this, self._base(), self._lives.faults.page)

    def _image(self, region: Region, this: Asked) -> Answer:
        found = next((one for one in IMAGES if one.id == this.id), None)
        return said(_image(found)) if found else error("image", 404, f"No image found with ID {this.id}")


def _volume(one: Volume) -> dict[str, Any]:
    held = [{"server_id": one.server, "device": "/dev/vdb", "volume_id": one.id}] if one.server else []
    return {"id": one.id, "name": one.name, "size": one.size, "volume_type": one.type, "metadata": dict(one.metadata),
            "status": "in-use" if one.server else "available", "attachments": held,
            "os-vol-tenant-attr:tenant_id": PROJECT}  # fmt: skip


def _image(one: Image) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "status": "active", "visibility": one.visibility, "owner": one.owner,
            "created_at": one.created, "min_disk": one.min_disk, "size": GIB // 2, "virtual_size": GIB,
            "disk_format": "qcow2", "container_format": "bare", **dict(one.properties)}  # fmt: skip


def _missing(id: str) -> Answer:
    return error("volume", 404, f"Volume {id} could not be found.")
