"""Trials, run on machines through agents that are not trusted."""

from cloudcmp.measure.bench import Bench, Records, Visit
from cloudcmp.measure.launch import TAKEN_WHY, record_all, run_launch, was_taken
from cloudcmp.measure.trial import Turn, run_trial

__all__ = ["TAKEN_WHY", "Bench", "Records", "Turn", "Visit", "record_all", "run_launch", "run_trial", "was_taken"]
