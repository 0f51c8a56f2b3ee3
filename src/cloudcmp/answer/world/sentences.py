"""What to mind about a simulation, in words."""

from collections.abc import Iterator

from cloudcmp.model.scenario import Mode, Scenario
from cloudcmp.model.simulation import Outcome

_BUSY = 0.9


def cautions(scenario: Scenario, own: Outcome) -> tuple[str, ...]:
    """What a reader of a simulation has to mind."""
    return tuple(_cautions(scenario, own))


def _cautions(scenario: Scenario, own: Outcome) -> Iterator[str]:
    if scenario.cloudanalyst:
        yield (
            "with CloudAnalyst's slips (compat): MIPS are taken a millisecond, Mbit as MiB, a GB is a MiB, peaks come "
            "on the first day alone, and a message counts as answered when its first part is done"
        )
    yield from scenario.latency.notes
    for one in own.deployments:
        for centre in one.centres:
            if centre.busy >= 1:
                yield (
                    f"{one.name}: {centre.centre} is asked for {centre.busy * 100:.0f} % of its machines' time, so its "
                    "queue grows for as long as the simulation lasts, and no mean of it holds"
                )
            elif centre.busy >= _BUSY:
                yield f"{one.name}: {centre.centre} is busy for {centre.busy * 100:.0f} % of the time"
    if scenario.mode is Mode.MESSAGES and scenario.grouping[0] > 1 and not scenario.cloudanalyst:
        yield (
            f"{scenario.grouping[0]} requests are one message: within it nothing is known of single requests; "
            "mode: requests simulates each"
        )
    if scenario.service.n is not None:
        yield (
            f"the service time is {scenario.service.source} (n = {scenario.service.n}); its own uncertainty is not in "
            "the intervals"
        )
    if scenario.runs == 1:
        yield "one run has no interval"
