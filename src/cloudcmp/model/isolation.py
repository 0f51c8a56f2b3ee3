"""What a neighbour's load takes from a victim."""

from dataclasses import dataclass

from cloudcmp.model.result import Bounds, Verdict


@dataclass(frozen=True, slots=True)
class Effect:
    """What one load of a neighbour does to one measurement of a victim, paired inside launches.

    `victim` is the measurement without its neighbour, `alone` and `beside` are its cells; `level` is how much load: its
    threads, or for one on the network its rate in bytes a second (infinite for as fast as it goes).
    `change` is the value beside the load divided by that alone, minus 1 (for a signed metric their difference), with
    its 95 % interval over `n` launches; `lost` is the same as a loss, the thesis's degradation: positive if the victim
    is slower, whatever the direction of its metric. `verdict` is that on beside against alone, corrected for all
    effects of the study; with `reason` where there is none. `sd_ratio` is the ratio of the standard deviations of runs
    inside launches, with its interval, and `sd_p` the p value of Brown and Forsythe's test that they are equal. None
    is unknown. One that does not decide is in no family, and gets no verdict. `place` is the load's in the study.
    """

    candidate: int
    victim: str
    alone: str
    beside: str
    load: str
    level: float
    n: int
    by_difference: bool
    change: float | None
    bounds: Bounds | None
    lost: float | None
    lost_bounds: Bounds | None
    verdict: Verdict
    reason: str
    decides: bool = True
    place: int = 0
    sd_ratio: float | None = None
    sd_bounds: Bounds | None = None
    sd_p: float | None = None
