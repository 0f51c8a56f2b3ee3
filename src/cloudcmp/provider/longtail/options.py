"""Checks of a study's options for these clouds."""

from cloudcmp.errors import Refused
from cloudcmp.model.lease import ZONE, CreateRequest

DEFAULT_IMAGE = "ubuntu-24.04"
_UNSUPPORTED = {
    "credits": "CPU credits are not sold here",
    "placement": "this driver creates no placement groups",
    ZONE: "its regions have no zones that can be named",
}


def check_options(request: CreateRequest) -> None:
    """Raises Refused for options that these clouds do not sell, or that this driver does not support."""
    options, where = dict(request.options), request.name
    if options.get("os", "linux") != "linux":
        raise Refused.at(where, "only Linux is started here", "leave os out")
    if options.get("market") == "spot":
        raise Refused.at(where, "spot machines are not sold here", "leave market out")
    if options.get("tenancy") == "dedicated":
        raise Refused.at(where, "dedicated hosts are not sold here", "leave tenancy out")
    for key, what in _UNSUPPORTED.items():
        if options.get(key):
            raise Refused.at(where, what, f"leave {key} out")
    if request.volume is not None:
        what = "a volume cannot be created with its machine here: it would outlive it"
        raise Refused.at(where, what, "leave volume out")


def user_data(request: CreateRequest, max_bytes: int) -> str:
    """The user data; raises Refused if it is longer than the cloud takes."""
    text = request.access.user_data if request.access else ""
    if len(text.encode()) > max_bytes:
        raise Refused.at(request.name, f"its user data is longer than {max_bytes} bytes", "shorten the user data")
    return text


def image_of(options: dict[str, str]) -> str:
    """The image of a machine: the study's, or this driver's default."""
    return options.get("image") or DEFAULT_IMAGE
