"""A cloud's default disk is nobody's choice: it is compared with no other."""

from dataclasses import replace

import pytest
from tests.analysis.planted import FMA, estimate_of, plan_of

from cloudcmp.analysis import facts_of
from cloudcmp.catalog import METRICS
from cloudcmp.compare import compare
from cloudcmp.model.offering import Volume
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, NoVerdict

DISK = "disk_op_per_s block_bytes=4096;depth=1;durability=direct;op=read;pattern=random;threads=one"
STEADY = (10.0, 10.1, 9.9, 10.05, 9.95, 10.0)


def on(*clouds: tuple[str, Volume | None]) -> Plan:
    plan = plan_of(candidates=len(clouds), cells=(DISK, FMA))
    some = zip(plan.candidates, clouds, strict=True)
    return replace(plan, candidates=tuple(replace(one, runner=name, volume=disk) for one, (name, disk) in some))


def pairs(plan: Plan) -> dict[str, Comparison]:
    estimates = [estimate_of(at, [value * (1 + at) for value in STEADY], cell) for cell in (DISK, FMA) for at in (0, 1)]
    return {one.cell: one for one in compare(plan, estimates, METRICS, facts_of(plan, ())).pairs}


@pytest.mark.parametrize("other", [("gcp", None), ("gcp", Volume("pd-ssd")), ("vultr", None)])
def test_a_defaulted_disk_is_not_ranked_against_another(other: tuple[str, Volume | None]) -> None:
    found = pairs(on(("aws", None), other))
    assert found[DISK].no_verdict is NoVerdict.UNLIKE
    assert "disk: the default of aws against" in found[DISK].reason
    assert found[FMA].no_verdict is None


@pytest.mark.parametrize(
    "two",
    [
        (("aws", None), ("aws", None)),
        (("aws", Volume("gp3")), ("gcp", Volume("pd-ssd"))),
        (("aws", Volume("gp3")), ("vultr", None)),
        (("local", None), ("local", None)),
        (("simulated", None), ("simulated", None)),
    ],
)
def test_chosen_disks_and_those_of_one_cloud_are(two: tuple[tuple[str, Volume | None], ...]) -> None:
    assert pairs(on(*two))[DISK].no_verdict is None
