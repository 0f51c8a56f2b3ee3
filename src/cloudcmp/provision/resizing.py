"""A machine that becomes another type, with the moments at which a controller may die."""

from cloudcmp.model.lease import Handle
from cloudcmp.model.protocol import Remote
from cloudcmp.store.crash import crash_point

RESIZE_CRASH_POINTS = ("cloud.before_resize", "cloud.while_stopped", "cloud.after_resize")
"""Crash points around a machine's stop and start; only a study that resizes passes them."""


async def change_type(provider: Remote, handle: Handle, offering: str) -> None:
    """Make a machine another type; between its stop and its start no timer of its own runs, and only we start it."""
    crash_point("cloud.before_resize")
    await provider.resize(handle, offering, lambda: crash_point("cloud.while_stopped"))
    crash_point("cloud.after_resize")
