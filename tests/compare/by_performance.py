"""The comparisons and winners by performance alone, for tests that know no prices."""

from collections.abc import Mapping, Sequence
from typing import Any

from cloudcmp.compare import comparisons
from cloudcmp.compare.table import PairTable
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Estimate, Winner


def compare(
    plan: Plan, estimates: Sequence[Estimate], metrics: Mapping[str, Metric], facts: Any, **known: Any
) -> tuple[PairTable, tuple[Winner, ...]]:
    """The pairs and the winners of `cloudcmp.compare.compare` by performance."""
    found = comparisons.compare(plan, estimates, metrics, facts, **known)
    return found.pairs, found.winners
