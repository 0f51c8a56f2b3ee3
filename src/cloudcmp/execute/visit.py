"""The trials of a launch on its machines, from the first to those that disturb a machine."""

from cloudcmp.errors import BudgetSpent
from cloudcmp.execute.connections import again_of, gone_of
from cloudcmp.execute.context import Visit
from cloudcmp.execute.crew import Stay
from cloudcmp.execute.lifecycle.disturbance import disturb
from cloudcmp.execute.traffic import allowance
from cloudcmp.execute.trials import ASLEEP_WHY, LOST_WHY, OVER_WHY, TAKEN_WHY, Place, record_all, run_launch
from cloudcmp.model.trial import Outcome
from cloudcmp.provision import zones_of


async def work(stay: Stay) -> Visit:
    """The trials on machines that came; those that their time to live is too short for wait for another launch, and
    those of a machine that went out of reach too.
    """
    try:
        visit = await _visit(stay)
    except BudgetSpent as fault:
        return stay.crew.stopped(str(fault))
    if visit.why == OVER_WHY:
        return stay.crew.stopped(f"{stay.candidate.id}: {visit.why}")
    if visit.why == LOST_WHY:
        return stay.crew.put_off(f"{stay.candidate.id}: {visit.why}")
    if visit.finished and visit.outcome is Outcome.PREEMPTED:
        record_all(stay.crew.bench, stay.candidate, stay.left(stay.turns.last), Outcome.PREEMPTED, TAKEN_WHY)
    return await disturb(stay) if visit.finished and visit.outcome is Outcome.OK else visit


async def _visit(stay: Stay) -> Visit:
    """The trials of agents, on the launch's first machine; the second is the other end where a trial has one."""
    first, *others = (machine.instance for machine in stay.machines)
    if first is None:
        return Visit(Outcome.OK, True)
    bench, visit = stay.crew.bench, stay.turns.visit
    place = Place(
        instance=first,
        gone=gone_of(stay, stopped_too=True),
        other=others[0] if others else None,
        again=await again_of(stay),
        caps=lambda trial: allowance(stay, trial),
        left_s=stay.left_s,
        zones=await zones_of(
            stay.crew.office.ways, stay.provider, [one.lease for one in stay.machines], needed=stay.one_zone()
        ),
    )
    while True:
        done = await run_launch(bench, stay.candidate, stay.launch, visit, place, stay.before)
        if done.why != ASLEEP_WHY:
            return done
        # The trial that was slept through is run again; those before it are done.
        stay.before = {one.trial: one.outcome for one in stay.crew.store.attempts() if not one.interrupted}
