"""Studies on disk: what was planned, what happened, and every sample, none of it lost once it was acknowledged."""

from cloudcmp.store.crash import CRASH_POINTS, crash_point
from cloudcmp.store.ledger import LaunchRecord
from cloudcmp.store.study_store import StudyStore

__all__ = ["CRASH_POINTS", "LaunchRecord", "StudyStore", "crash_point"]
