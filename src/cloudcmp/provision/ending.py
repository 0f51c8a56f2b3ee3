"""The end of one resource: asked for until it is seen gone, also when nothing can be written."""

from contextlib import suppress
from dataclasses import dataclass

from cloudcmp.errors import NotOurs, OtherAccount, UserMistake
from cloudcmp.model.lease import INSTANCE, STILL_THERE, Handle, Lease, LeaseEvent
from cloudcmp.model.protocol import Provider, Remote
from cloudcmp.provision.ledger import Ledger, Patience
from cloudcmp.provision.watching import Last, Watch, told
from cloudcmp.store.crash import crash_point

_AGAIN_S = 1.0  # until something that seems gone is looked at once more
_NEVER = (UserMistake, ImportError, OtherAccount, NotOurs)  # asking again does not help
_THERE = {"running", "stopped"}  # one that is pending may only not be listed


@dataclass(frozen=True, slots=True)
class Release:
    """What came of ending a lease: evidence that it is gone, or None and why not. `unwritten` is a journal's fault.

    `took_s` is from the first request to destroy it until it was seen gone; `fault` is the last one that kept it here.
    """

    lease: Lease
    evidence: str | None
    why: str = ""
    unwritten: str = ""
    took_s: float | None = None
    fault: Exception | None = None


async def end(
    ledger: Ledger, provider: Provider, lease: Lease, handle: Handle, patience: Patience, *, write: bool = True
) -> Release:
    """Ask for destruction until the machine is seen gone or patience ends; a failing journal does not stop it."""
    with suppress(Exception):  # where it can not be told it is asked again, before an absence is believed
        try:
            await ledger.accounts.own(provider)
        except OtherAccount as fault:
            return Release(lease, None, told(fault), fault=fault)
    unwritten = try_write(ledger, lease, LeaseEvent.DELETE_ASKED, cloud_id=handle.cloud_id) if write else ""
    watch = Watch(ledger.time.now() if lease.created_at is None else lease.created_at, patience)
    outliving = _Outliving(ledger, provider, lease, handle, noted=not write)
    there = True  # until the contrary is known
    with suppress(Exception):  # seen before it goes, it need not grow old before its absence is believed
        there = await provider.gone(handle) is None
        if there:
            watch.told(None, ledger.time.now(), ledger.time.monotonic())
    await outliving.note(watch.seen_at)
    began, last = ledger.time.monotonic(), Last()
    while True:
        before = watch.agree
        try:
            await _round(ledger, provider, handle, watch, last)
        except _NEVER as fault:
            return Release(lease, None, told(fault), unwritten, fault=fault)
        await outliving.note(watch.seen_at)
        if watch.evidence is not None:
            took_s = max(0.0, watch.first - began) if there else None
            return _gone(ledger, lease, handle, watch, took_s, unwritten, write=write)
        moment = ledger.time.monotonic()
        late = moment - began >= patience.give_up_s or last.refused(moment, patience.give_up_s)
        if watch.agree <= before and late:
            return Release(lease, None, last.why, unwritten, fault=last.fault)
        await ledger.time.sleep(min(patience.poll_s, _AGAIN_S) if watch.agree else patience.poll_s)


def _gone(
    ledger: Ledger, lease: Lease, handle: Handle, watch: Watch, took_s: float | None, unwritten: str, *, write: bool
) -> Release:
    """What is seen gone, written down."""
    if write:
        evidence = watch.evidence or ""
        unwritten = try_write(ledger, lease, LeaseEvent.GONE, cloud_id=handle.cloud_id, detail=evidence) or unwritten
    return Release(lease, watch.evidence, unwritten=unwritten, took_s=took_s)


@dataclass(slots=True)
class _Outliving:
    """Writes down once that a machine was seen after its time to live: it is then not believed to have ended at it."""

    ledger: Ledger
    provider: Provider
    lease: Lease
    handle: Handle
    noted: bool
    looked_at: float | None = None

    async def note(self, seen_at: float | None) -> None:
        """To be called with when it was last not said to be gone: only then it is looked whether it is there."""
        expires_at = self.lease.expires_at
        if self.noted or self.handle.kind != INSTANCE or expires_at is None:
            return
        if seen_at is None or seen_at <= expires_at or seen_at == self.looked_at:
            return
        self.looked_at = seen_at
        with suppress(Exception):  # what can not be looked at was not seen
            self.noted = await self._is_there()
        if self.noted:
            detail, id = STILL_THERE, self.handle.cloud_id
            try_write(self.ledger, self.lease, LeaseEvent.DELETE_ASKED, cloud_id=id, detail=detail)

    async def _is_there(self) -> bool:
        """Whether it is seen: what ended long ago is in no list either, and is not said to be gone for a while."""
        if isinstance(self.provider, Remote):
            return (await self.provider.look(self.handle)).state in _THERE
        listed = await self.provider.find(self.ledger.study, self.lease.token, region=self.lease.region)
        return any((one.kind, one.cloud_id) == (self.handle.kind, self.handle.cloud_id) for one in listed)


async def _round(ledger: Ledger, provider: Provider, handle: Handle, watch: Watch, last: Last) -> None:
    """Ask once for destruction, and then, whatever came of that, whether it is gone: what is gone may refuse to go.

    Raises what asking again does not help with.
    """
    answers: list[Exception | None] = []
    crash_point("cloud.before_destroy")
    if not watch.agree:
        try:
            await ledger.pace.destroy(provider, handle)
            answers.append(None)
        except _NEVER:
            raise
        except Exception as fault:
            answers.append(fault)
    crash_point("cloud.after_destroy")
    try:
        now = ledger.time.now()  # of the question: this machine may sleep before the answer is read
        evidence = await provider.gone(handle)
        if evidence is not None:
            await ledger.accounts.confirm(provider)
        watch.told(evidence, now, ledger.time.monotonic())
        answers.append(None)
    except _NEVER:
        raise
    except Exception as fault:
        answers.append(fault)
    last.told(ledger.time.monotonic(), *answers)
    crash_point("cloud.after_gone")


def try_write(ledger: Ledger, lease: Lease, event: LeaseEvent, *, cloud_id: str | None = None, detail: str = "") -> str:
    """Write a row if it can be written; what failed, else nothing: destroying never waits for the journal."""
    try:
        ledger.write(lease, event, cloud_id=cloud_id, detail=detail)
    except Exception as error:
        return str(error)
    return ""
