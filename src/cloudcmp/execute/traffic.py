"""Traffic limits of trials: caps for each, and the study's bytes shared among the trials that run at once."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from cloudcmp.execute.context import LaunchContext
from cloudcmp.model.cast import LOOPBACK, traffic_path
from cloudcmp.model.plan import Candidate, Plan, PlannedTrial
from cloudcmp.model.trial import Attempt
from cloudcmp.plan import ALONE, caps_of, is_billed, most_bytes, service_caps
from cloudcmp.store import StudyStore

_POLL_S = 0.1


@asynccontextmanager
async def allowance(launch: LaunchContext, trial: PlannedTrial) -> AsyncIterator[dict[str, float] | None]:
    """The caps of a trial; reserves its share of the study's bytes until the context is left.

    Those on a billed service hold what was quoted at most; this machine's own services have none.

    Waits while running trials hold too many of the remaining bytes. Raises BudgetSpent if none are left.
    """
    run = launch.run
    if launch.candidate.service is not None:
        store = run.providers.get(launch.candidate.store)
        yield service_caps(trial) if is_billed(launch.candidate) and (store is None or store.billed) else None
        return
    caps = caps_of(run.plan.caps, launch.candidate.runner)
    if run.plan.caps.bytes is None or not _counts(launch.candidate, trial):
        yield caps
        return
    most, where = most_bytes(caps, trial.probe, dict(trial.params)), f"{launch.candidate.id}: {trial.probe}"
    while (share := run.guard.reserve_traffic(where, most)) is None and not run.trials.stop.is_set():
        await asyncio.sleep(_POLL_S)
    number = run.store.next_attempt(trial.index)
    try:
        yield caps if share is None else {**caps, "bytes": share}
    finally:
        if share is not None:
            run.guard.settle_traffic(share, _sent_by(run.store, trial, number, share))


def sent_in_all(plan: Plan, attempts: Iterable[Attempt]) -> int:
    """The payload bytes that attempts sent between machines, from their agents' notes.

    An attempt without a note counts with the most that it may have sent, limited to the rest of the study's cap.
    """
    cap, total = plan.caps.bytes, 0
    for one in attempts:
        trial = plan.trials[one.trial]
        candidate = plan.candidates[plan.launches[trial.launch].candidate]
        if _counts(candidate, trial):
            most = most_bytes(caps_of(plan.caps, candidate.runner), trial.probe, dict(trial.params))
            total += _sent(one, most if cap is None else max(0, min(most, cap - total)))
    return total


def _sent_by(store: StudyStore, trial: PlannedTrial, number: int, share: int) -> int:
    """The bytes that an attempt used of its allowance: none if it never began, all while it is open."""
    if store.next_attempt(trial.index) == number:
        return 0
    return next(
        (_sent(one, share) for one in store.attempts() if (one.trial, one.attempt) == (trial.index, number)), share
    )


def _sent(attempt: Attempt, most: int) -> int:
    """The payload bytes of an attempt, `most` if it has no note; none if its machine never arrived."""
    from cloudcmp.analysis.facts import note, reported  # loads scipy, which a list of studies does not need

    if attempt.ended_at == attempt.started_at:
        return 0
    sent = note(reported(attempt), "payload_bytes")
    return int(sent) if isinstance(sent, int | float) and 0 <= sent < math.inf else most


def _counts(candidate: Candidate, trial: PlannedTrial) -> bool:
    """True if a trial sends what is measured over a network between real machines; a service's bytes go elsewhere."""
    path = traffic_path(dict(trial.params), single=candidate.runner in ALONE)
    return not candidate.simulated and candidate.service is None and path != LOOPBACK
