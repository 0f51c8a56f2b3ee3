"""Trials, run on machines through agents that are not trusted."""

from cloudcmp.measure.bench import Bench, Records, Visit
from cloudcmp.measure.elastic import (
    BLIND_WHY,
    Hands,
    Staged,
    give_up_s,
    record_arrival,
    record_release,
    run_last,
    staged,
)
from cloudcmp.measure.launch import (
    ASLEEP_WHY,
    LOST_WHY,
    OVER_WHY,
    SLEPT_S,
    STOPPED_WHY,
    TAKEN_WHY,
    Place,
    record_all,
    run_launch,
    set_aside,
    was_taken,
)
from cloudcmp.measure.trial import Again, Gone, Link, OutOfReach, Turn, run_trial
from cloudcmp.measure.unchanged import check_unchanged

__all__ = [
    "ASLEEP_WHY",
    "BLIND_WHY",
    "LOST_WHY",
    "OVER_WHY",
    "SLEPT_S",
    "STOPPED_WHY",
    "TAKEN_WHY",
    "Again",
    "Bench",
    "Gone",
    "Hands",
    "Link",
    "OutOfReach",
    "Place",
    "Records",
    "Staged",
    "Turn",
    "Visit",
    "check_unchanged",
    "give_up_s",
    "record_all",
    "record_arrival",
    "record_release",
    "run_last",
    "run_launch",
    "run_trial",
    "set_aside",
    "staged",
    "was_taken",
]
