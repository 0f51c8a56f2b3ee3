"""Whether there is anything that openstacksdk would read settings from: a look that spares loading it for nothing."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_NAMES = tuple(f"{name}.{suffix}" for name in ("clouds", "secure") for suffix in ("yaml", "yml", "json"))
_SYSTEM = ("/etc/xdg/openstack", "/etc/openstack")
_MOVED = ("OS_", "XDG_CONFIG_", "SNAP_REAL_HOME")


def may_be_there(
    environ: Mapping[str, str] = os.environ, system: tuple[str, ...] = _SYSTEM, platform: str = sys.platform
) -> bool:
    """Whether the library may find settings; False only where it surely finds none, and so has no address to ask.

    It takes variables that begin with `OS_`, and clouds.yaml or secure.yaml (or .yml, .json) of the current folder,
    `~/.config/openstack`, /etc/xdg/openstack and /etc/openstack, or of where variables have moved these to:
    https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html and its `config/loader.py`. Where
    folders are otherwise than on Linux the library is left to look.
    """
    if platform != "linux" or any(key.startswith(_MOVED) for key in environ):
        return True
    folders = (Path.cwd(), Path("~/.config/openstack").expanduser(), *map(Path, system))
    return any((folder / name).exists() for folder in folders for name in _NAMES)
