"""Like with like: what refuses a verdict, and what only marks it."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.analysis.planted import CHASE, FMA, estimate_of, plan_of
from tests.compare.by_performance import compare

from cloudcmp.catalog import METRICS
from cloudcmp.compare.comparability import FACTS
from cloudcmp.model.result import Comparison, Verdict

STEADY = (10.0, 10.1, 9.9, 10.05, 9.95, 10.0)
FAST = tuple(20.0 + value for value in STEADY)
DISK = "disk_op_per_s block_bytes=4096;depth=1;durability=direct;op=read;pattern=random;threads=one"


def between(mine: Mapping[str, str], theirs: Mapping[str, str], cell: str = FMA) -> Comparison:
    plan = plan_of(candidates=2, cells=(cell,))
    estimates = [estimate_of(0, FAST, cell), estimate_of(1, STEADY, cell)]
    (one,), _ = compare(plan, estimates, METRICS, {0: mine, 1: theirs})
    return one


def test_equal_or_untold_facts_leave_no_mark() -> None:
    facts = {"agent_version": "1.0", "kernel": "6.1"}
    assert between(facts, facts).marks == between({}, {}).marks == ()


def test_another_version_of_the_agent_refuses_the_verdict_but_shows_the_numbers() -> None:
    one = between({"agent_version": "1.0"}, {"agent_version": "1.1"})
    assert (one.verdict, one.reason) == (Verdict.CANNOT_TELL, "unlike: agent version: 1.0 against 1.1")
    assert one.effect is not None
    assert one.p_adjusted is None


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("kernel", "kernel"),
        ("image", "image"),
        ("compiler", "compiler"),
        ("transparent_huge_pages", "transparent huge pages"),
        ("huge_pages", "reserved huge pages"),
        ("page_merging", "merging of pages (KSM)"),
        ("balloon", "memory balloon"),
        ("clocksource", "clock source"),
    ],
)
def test_what_is_found_on_the_machine_marks_the_verdict(key: str, name: str) -> None:
    one = between({key: "a"}, {key: "b"})
    assert one.verdict is Verdict.BETTER
    assert one.marks == (f"{name}: a against b",)


def test_the_file_system_matters_to_disks_only() -> None:
    mine, theirs = {"file_system": "ext4"}, {"file_system": "xfs"}
    assert between(mine, theirs).marks == ()
    assert between(mine, theirs, DISK).marks == ("file system: ext4 against xfs",)


def test_how_a_probe_really_ran_marks_its_own_cells() -> None:
    mine, theirs = {"disk.engine": "io_uring"}, {"disk.engine": "preadv2"}
    assert between(mine, theirs, CHASE).marks == ()
    assert between(mine, theirs, DISK).marks == ("disk engine: io_uring against preadv2",)


def test_what_the_page_cache_held_marks_file_operations() -> None:
    mine, theirs = {"iozone.page_cache": "warm"}, {"iozone.page_cache": "partly warm"}
    cell = "iozone_bytes_per_s durability=cached;file_bytes=65536;op=read;record_bytes=4096;threads=one"
    assert between(mine, theirs, cell).marks == ("iozone page cache: warm against partly warm",)


def test_two_loadfiles_are_two_loads_and_get_no_verdict() -> None:
    cell = "dbench_bytes_per_s clients=1;loadfile=auto;mode=async"
    mine, theirs = {"dbench.loadfile": "own 1"}, {"dbench.loadfile": "client.txt"}
    assert between(mine, theirs).verdict is Verdict.BETTER
    one = between(mine, theirs, cell)
    assert (one.verdict, one.reason) == (Verdict.CANNOT_TELL, "unlike: loadfile: own 1 against client.txt")
    assert between(mine, mine, cell).verdict is Verdict.BETTER


def test_what_only_one_told_is_marked() -> None:
    assert between({"kernel": "6.1"}, {}).marks == ("kernel: known only for c0",)
    one = between({}, {"agent_version": "1.0"})
    assert (one.verdict, one.marks) == (Verdict.BETTER, ("agent version: known only for c1",))


def test_trials_of_other_parameters_are_refused() -> None:
    plan = plan_of(candidates=2)
    longer = tuple(
        replace(trial, params=(("duration_s", "10"),)) if plan.launches[trial.launch].candidate else trial
        for trial in plan.trials
    )
    estimates = [estimate_of(0, FAST), estimate_of(1, STEADY)]
    (one,), (winner,) = compare(replace(plan, trials=longer), estimates, METRICS, {})
    assert (one.verdict, one.reason) == (Verdict.CANNOT_TELL, "unlike: probe parameters")
    assert winner.winners == ()


def test_the_processor_is_no_such_fact() -> None:
    assert {fact.key for fact in FACTS}.isdisjoint({"isa", "cpu", "agent_target", "memory"})
    assert between({"isa": "avx512f", "cpu": "x"}, {"isa": "neon", "cpu": "y"}).marks == ()


def test_a_refused_pair_leaves_the_others_of_the_family_with_p_of_one_for_it() -> None:
    plan = plan_of(candidates=3)
    estimates = [estimate_of(0, FAST), estimate_of(1, STEADY), estimate_of(2, tuple(v * 1.5 for v in STEADY[::-1]))]
    facts = {0: {"agent_version": "1"}, 1: {"agent_version": "1"}, 2: {"agent_version": "2"}}
    found, _ = compare(plan, estimates, METRICS, facts)
    assert found[0].p_adjusted == pytest.approx(3 * (found[0].p_paired or 0.0))
    assert [one.verdict for one in found[1:]] == [Verdict.CANNOT_TELL] * 2
