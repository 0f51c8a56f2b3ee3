"""Destroys one resource that is proved to be ours and waits until it is seen gone, with or without a journal."""

from contextlib import suppress
from dataclasses import dataclass

from cloudcmp.errors import CloudcmpError, NoCredentials, NotOurs, OtherAccount, UserMistake
from cloudcmp.model.lease import INSTANCE, Handle, Lease, LeaseEvent, LeaseNote
from cloudcmp.model.protocol import Provider, Remote
from cloudcmp.provision.ledger import Ledger, Patience
from cloudcmp.provision.ownership import PROVED, Proof, Sighting
from cloudcmp.store.crash import crash_point

_RENEWED_S = 60.0  # credentials that refresh themselves have done so by then


class GoneWatch:
    """Collects the answers of polls of one resource; `agree` counts those in a row that call it gone, from `first`.

    `seen_at` is when it was last not reported gone (Unix s).
    """

    def __init__(self, made_at: float, patience: Patience) -> None:
        self._made_at = made_at
        self._patience = patience
        self.seen_at: float | None = None
        self.agree = 0
        self.first = 0.0
        self.evidence: str | None = None

    def record(self, evidence: str | None, asked_at: float, moment: float) -> None:
        """Adds one answer: the time of its request (Unix s) and its own (monotonic s)."""
        if evidence is None:
            self.seen_at, self.agree = asked_at, 0
            return
        if self.seen_at is None and asked_at - self._made_at < self._patience.settle_s:
            return  # it may be too new to be visible
        self.first = self.first if self.agree else moment
        self.agree += 1
        if self.agree >= self._patience.sightings:
            self.evidence = evidence


@dataclass(slots=True)
class LastFault:
    """The last fault of the calls for one resource, and since when the credentials are refused (monotonic s)."""

    fault: Exception | None = None
    refused_since: float | None = None

    def record(self, moment: float, *results: Exception | None) -> None:
        """Adds the results of one round of calls, None for each that worked; they replace an earlier fault."""
        faults = [one for one in results if one is not None]
        refusals = [one for one in faults if isinstance(one, NoCredentials)]
        self.fault = next(reversed(refusals or faults), None)
        if not refusals and len(faults) < len(results):
            self.refused_since = None
        elif refusals and self.refused_since is None:
            self.refused_since = moment

    def refused(self, moment: float, give_up_s: float) -> bool:
        """True if the credentials have been refused for so long that nothing will renew them."""
        if self.refused_since is None or not isinstance(self.fault, NoCredentials):
            return False
        return moment - self.refused_since >= min(give_up_s, _RENEWED_S)

    @property
    def why(self) -> str:
        """The fault in words."""
        return "it is still there" if self.fault is None else fault_text(self.fault)


def fault_text(fault: Exception) -> str:
    """Describes any exception of a provider: one that is not ours must not keep other resources from being ended."""
    return str(fault) if isinstance(fault, CloudcmpError) else f"{type(fault).__name__}: {fault}"


_AGAIN_S = 1.0  # the pause before a second look at something gone
_PERMANENT_FAULTS = (UserMistake, ImportError, OtherAccount, NotOurs)  # retries do not help
_NEW_S, _SPARE_S = 300.0, 60.0  # how long a new resource may be unlisted, and a gone one not be reported gone
_SEEN_STATES = {"running", "stopped"}  # a pending one may be unlisted


@dataclass(frozen=True, slots=True)
class Release:
    """The result of ending a lease: evidence that it is gone, or None and why not. `unwritten` is a journal's fault.

    `took_s` is from the first request to destroy it until it was seen gone; `fault` is the last one that kept it here.
    """

    lease: Lease
    evidence: str | None
    why: str = ""
    unwritten: str = ""
    took_s: float | None = None
    fault: Exception | None = None


async def end(
    ledger: Ledger,
    provider: Provider,
    lease: Lease,
    handle: Handle,
    patience: Patience,
    *,
    write: bool = True,
    proof: Proof | None = None,
) -> Release:
    """Requests destruction until the machine is seen gone or patience ends; continues if the journal fails.

    A resource must be proved to be the lease's own first; without a `proof` it is read back from the cloud.
    """
    with suppress(Exception):  # `confirm` checks the account again later
        try:
            await ledger.accounts.check_account(provider)
        except OtherAccount as fault:
            return Release(lease, None, fault_text(fault), fault=fault)
    watch = GoneWatch(ledger.time.now() if lease.created_at is None else lease.created_at, patience)
    claim = _Claim(ledger, provider, lease, handle, patience, write=write, proof=proof)
    outliving = _OutlivingNote(claim, noted=not write)
    was_there = True
    with suppress(Exception):  # once seen, it need not be old to be gone
        was_there = await provider.gone(handle) is None
        if was_there:
            watch.record(None, ledger.time.now(), ledger.time.monotonic())
    with suppress(Exception):  # `destroy` tries again
        if was_there:
            await claim.prove()
    await outliving.note(watch.seen_at)
    began, last = ledger.time.monotonic(), LastFault()
    while True:
        before = watch.agree
        try:
            await _round(ledger, claim, watch, last)
        except _PERMANENT_FAULTS as fault:
            return Release(lease, None, fault_text(fault), claim.unwritten, fault=fault)
        await outliving.note(watch.seen_at)
        if watch.evidence is not None:
            took_s = max(0.0, watch.first - began) if was_there else None
            unwritten, id = claim.unwritten, handle.cloud_id
            if write:
                unwritten = try_write(ledger, lease, LeaseEvent.GONE, cloud_id=id, detail=watch.evidence) or unwritten
            return Release(lease, watch.evidence, unwritten=unwritten, took_s=took_s)
        if not watch.agree and await claim.is_kept():
            return Release(lease, None, claim.proof.why, claim.unwritten)
        moment = ledger.time.monotonic()
        late = moment - began >= patience.give_up_s or last.refused(moment, patience.give_up_s)
        if watch.agree <= before and late:
            why = last.why if last.fault else claim.proof.why or last.why
            return Release(lease, None, why, claim.unwritten, fault=last.fault)
        await ledger.time.sleep(min(patience.poll_s, _AGAIN_S) if watch.agree else patience.poll_s)


class _Claim:
    """The permission to destroy one resource, once it is proved to be the lease's own."""

    def __init__(
        self, ledger: Ledger, provider: Provider, lease: Lease, handle: Handle, patience: Patience, *, write: bool,
        proof: Proof | None,
    ) -> None:  # fmt: skip
        self.ledger, self.provider, self.lease, self.handle = ledger, provider, lease, handle
        self.unwritten = ""
        self._patience = patience
        self._ask_unwritten = write
        self._looks = 0
        self._since = ledger.time.monotonic()
        self.proof = Proof(Sighting.UNSEEN) if proof is None else proof
        if proof is None and ledger.ownership.is_made_here(provider, handle):
            self.proof = PROVED
        self._write_delete_asked()

    @property
    def is_proved(self) -> bool:
        """True if it is known to be the lease's own."""
        return self.proof.sighting is Sighting.OURS

    async def prove(self) -> None:
        """Reads the resource back if it was not seen yet; raises the kinds of ProviderFault."""
        if self.proof.sighting is Sighting.UNSEEN:
            self.proof = await self.ledger.ownership.prove(self.provider, self.lease, self.handle)
            self._looks += 1
            self._write_delete_asked()

    async def destroy(self) -> None:
        """Requests destruction if the resource is proved to be ours; raises what reading and destroying it raise."""
        await self.prove()
        if self.is_proved:
            await self.ledger.pace.destroy(self.provider, self.handle)

    def _write_delete_asked(self) -> None:
        if self.is_proved and self._ask_unwritten:
            id, self._ask_unwritten = self.handle.cloud_id, False
            self.unwritten = try_write(self.ledger, self.lease, LeaseEvent.DELETE_ASKED, cloud_id=id)

    async def is_kept(self) -> bool:
        """True once it is certain that the resource is left alone; call it while it is not reported gone.

        An unlisted resource may be too new to be listed, or gone and not yet reported gone: this waits as long as
        either takes, unless the resource certainly exists and is old.
        """
        if self.proof.sighting is not Sighting.UNSEEN or self._looks < self._patience.sightings:
            return self.proof.sighting is Sighting.FOREIGN
        if self._patience.grace_s == 0.0:  # this machine's own folders are listed at once
            return True
        time, made_at = self.ledger.time, self.lease.created_at
        if time.monotonic() - self._since > _NEW_S + _SPARE_S:
            return True
        return made_at is not None and time.now() - made_at > _NEW_S and await self.is_there()

    async def is_there(self) -> bool:
        """True if it is seen. Long-ended resources are not listed either, before they are reported gone."""
        with suppress(Exception):
            if isinstance(self.provider, Remote):
                return self.handle.kind == INSTANCE and (await self.provider.look(self.handle)).state in _SEEN_STATES
            listed = await self.provider.find(self.ledger.study, self.lease.token, region=self.lease.region)
            return any((one.kind, one.cloud_id) == (self.handle.kind, self.handle.cloud_id) for one in listed)
        return False


@dataclass(slots=True)
class _OutlivingNote:
    """Notes once that a machine was seen after its time to live, so that its cost continues."""

    claim: _Claim
    noted: bool
    looked_at: float | None = None

    async def note(self, seen_at: float | None) -> None:
        """Polls the machine if it was last not reported gone at `seen_at`, after its time to live."""
        expires_at, handle = self.claim.lease.expires_at, self.claim.handle
        if self.noted or handle.kind != INSTANCE or expires_at is None or not self.claim.is_proved:
            return
        if seen_at is None or seen_at <= expires_at or seen_at == self.looked_at:
            return
        self.looked_at = seen_at
        self.noted = await self.claim.is_there()
        if self.noted:
            ledger, lease, id = self.claim.ledger, self.claim.lease, handle.cloud_id
            try_write(ledger, lease, LeaseEvent.DELETE_ASKED, LeaseNote.STILL_THERE, cloud_id=id)


async def _round(ledger: Ledger, claim: _Claim, watch: GoneWatch, last: LastFault) -> None:
    """Requests destruction once, then asks whether the resource is gone, even if the request failed.

    Raises permanent faults.
    """
    provider, handle = claim.provider, claim.handle
    answers: list[Exception | None] = []
    crash_point("cloud.before_destroy")
    if not watch.agree:
        try:
            await claim.destroy()
            answers.append(None)
        except _PERMANENT_FAULTS:
            raise
        except Exception as fault:
            answers.append(fault)
    crash_point("cloud.after_destroy")
    try:
        now = ledger.time.now()  # of the request: the controller may sleep meanwhile
        evidence = await provider.gone(handle)
        if evidence is not None:
            await ledger.accounts.confirm(provider)
        watch.record(evidence, now, ledger.time.monotonic())
        answers.append(None)
    except _PERMANENT_FAULTS:
        raise
    except Exception as fault:
        answers.append(fault)
    last.record(ledger.time.monotonic(), *answers)
    crash_point("cloud.after_gone")


def try_write(
    ledger: Ledger, lease: Lease, event: LeaseEvent, *notes: LeaseNote, cloud_id: str | None = None, detail: str = ""
) -> str:
    """Writes a row if possible; returns the error, empty if none: destruction never waits for the journal."""
    try:
        ledger.write(lease, event, *notes, cloud_id=cloud_id, detail=detail)
    except Exception as error:
        return str(error)
    return ""
