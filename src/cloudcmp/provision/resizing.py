"""A machine that becomes another type, with the moments at which a controller may die."""

from cloudcmp.errors import Refused
from cloudcmp.model.lease import Lease, LeaseEvent, LeaseNote
from cloudcmp.model.protocol import Remote
from cloudcmp.provision.ledger import Ledger
from cloudcmp.store.crash import crash_point

RESIZE_CRASH_POINTS = ("cloud.before_resize", "cloud.while_stopped", "cloud.after_resize")
"""Crash points around a machine's stop and start; only a study that resizes passes them."""


async def change_type(ledger: Ledger, provider: Remote, lease: Lease, offering: str) -> None:
    """Make a machine another type; between its stop and its start no timer of its own runs, and only we start it.

    Its start is written down before, as an intent is: one that never came costs little, one that is not known of may
    be beyond the budget. Raises the kinds of ProviderFault, and what the journal raises, before anything is stopped.
    """
    handle = lease.handle()
    if handle is None:
        raise Refused.at(lease.name, "it has no id, so it cannot be resized", "launch it first")
    ledger.write(lease, LeaseEvent.CREATED, LeaseNote.STARTED_AGAIN)
    crash_point("cloud.before_resize")
    await provider.resize(handle, offering, lambda: crash_point("cloud.while_stopped"))
    crash_point("cloud.after_resize")
