"""Verdicts on 483 days of fresh machines of a real cloud (Azure VM Noise Dataset 2024, eastus; TUNA, EuroSys 2025).

Each study is made of neighbouring fresh machines: where both candidates are the same instance type nobody is better,
whatever the machines, the hours and the months between them did.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.planted import FMA, estimate_of, plan_of
from tests.compare.by_performance import compare
from tests.late import Late
from tests.slices import examples

from cloudcmp.catalog import METRICS
from cloudcmp.model.result import Verdict

pd = Late("pandas")

ROUNDS = 8
_DATA = os.environ.get("CLOUDCMP_DATA")
pytestmark = pytest.mark.skipif(not _DATA, reason="CLOUDCMP_DATA names no folder of real measurements")
TESTS = (
    "Test:_SET_-_Parallel_Connections:_50",
    "Scaling_Factor:_25_-_Clients:_25_-_Mode:_Read_Write_(TPC-B_Like)",
    "Test:_CPU_Cache",
    "Test:_Max_Bandwidth_-_Stream-Triad_Like",
)


@pytest.fixture(scope="module")
def fresh() -> dict[tuple[str, str], np.ndarray]:
    """For each test and instance type the values of fresh machines, in the order of time; larger is better."""
    path = Path(str(_DATA)) / "azure_vm_noise" / "azure_vm_noise_eastus.csv.gz"
    table = pd.read_csv(path, usecols=["test", "lifespan", "sku", "starttime", "value"])
    table = table[(table.lifespan == "short") & (table.value > 0) & table.test.isin(TESTS)].sort_values("starttime")
    return {key: group.value.to_numpy(float) for key, group in table.groupby(["test", "sku"])}


def verdicts(a: np.ndarray, b: np.ndarray) -> list[Verdict | None]:
    """One verdict for each study of so many rounds; a and b of shape (studies, rounds), paired by round."""
    plan = plan_of(candidates=2, rounds=ROUNDS, cells=(FMA,))
    found = []
    for left, right in zip(a, b, strict=True):
        pair, _ = compare(plan, [estimate_of(0, left, FMA), estimate_of(1, right, FMA)], METRICS, {})
        found.append(pair[0].verdict)
    return found


@pytest.mark.parametrize("sku", ["D8s_v5", "B8ms"])
@pytest.mark.parametrize("test", TESTS)
def test_p31_the_same_instance_type_is_not_better_than_itself(
    fresh: dict[tuple[str, str], np.ndarray], test: str, sku: str
) -> None:
    values = fresh[test, sku]
    studies = min(examples(300, 3), values.size // (2 * ROUNDS))
    pairs = values[: studies * ROUNDS * 2].reshape(studies, ROUNDS, 2)
    # Who of two neighbours is called the first is drawn, as a plan's order is.
    swap = np.random.default_rng(1).random((studies, ROUNDS)) < 0.5
    first, second = np.where(swap, pairs[..., 0], pairs[..., 1]), np.where(swap, pairs[..., 1], pairs[..., 0])
    told = sum(verdict in {Verdict.BETTER, Verdict.WORSE} for verdict in verdicts(first, second))
    # 5 % of studies may err; four standard deviations of that count are left for chance.
    assert told <= 0.05 * studies + 4 * np.sqrt(0.05 * 0.95 * studies)


def test_the_better_of_two_instance_types_is_found(fresh: dict[tuple[str, str], np.ndarray]) -> None:
    # Redis SET on D8s_v5 is 59 % above B8ms in the medians of all fresh machines.
    left, right = fresh[TESTS[0], "D8s_v5"], fresh[TESTS[0], "B8ms"]
    studies = 100
    shaped = (x[: studies * ROUNDS].reshape(studies, ROUNDS) for x in (left, right))
    told = verdicts(*shaped)
    assert told.count(Verdict.WORSE) == 0
    assert told.count(Verdict.BETTER) >= 0.9 * studies
