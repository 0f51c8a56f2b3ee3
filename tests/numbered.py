"""The tests that carry a promise's number, and no others: a plugin of pytest (`pytest -p tests.numbered`)."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

_NUMBERED = re.compile(r"::test_p\d")
OWN_ROWS = (
    "agent/test_black_holes.py::test_p24_every_call_ends_whatever_the_line_does",
    "agent/test_wrong_hosts.py::test_p23_no_wrong_host_key_is_let_in_and_it_learns_nothing",
    "cost/test_poisoned.py::test_p13_a_list_that_is_badly_served_is_not_taken",
    "cost/test_poisoned.py::test_p13_a_poisoned_list_tells_no_price",
    "cost/test_poisoned.py::test_p13_lists_changed_at_random_tell_no_price_that_is_not_in_them",
    "app/test_clouds.py::test_p01_a_cleanup_that_dies_is_done_again",
    "app/test_clouds.py::test_p01_a_study_on_two_clouds_that_died_leaves_nothing_after_cleanup",
    "app/test_clouds.py::test_p01_one_that_died_goes_on_and_leaves_nothing",
    "app/test_clouds.py::test_p01_p16_controllers_killed_at_any_moment_leave_nothing_and_lose_nothing",
    "app/test_groups.py::test_p01_a_killed_study_of_four_machines_leaves_nothing_at_any_cloud",
    "app/test_kills.py::test_p16_p20_a_killed_study_loses_nothing_and_says_the_same",
    "app/test_namespaces.py::test_p01_four_machines_are_measured_and_killed_and_nothing_of_them_is_left",
    "app/test_seeds.py::test_p31_tied_clouds_are_not_told_apart",
    "app/test_stopping.py::test_p08_signals_once_and_twice_leave_nothing_that_is_not_said",
    "app/test_sweep_clouds.py::test_p06_look_alikes_at_every_cloud_survive_and_leftovers_go",
    "app/test_sweep.py::test_p6_all_studies_are_found_and_no_decoy_is_touched",
    "app/test_sweep.py::test_p7_nothing_is_destroyed_on_missing_or_unreadable_lists",
    "app/test_walks.py::test_p01_a_controller_that_dies_at_a_cloud_leaves_nothing_after_cleanup",
    "app/test_walks.py::test_p01_a_controller_that_dies_while_it_ends_a_cloud_s_machines_goes_on",
    "app/test_walks.py::test_p02_a_lost_answer_is_mended_whatever_becomes_of_the_controller",
    "app/test_walks.py::test_p23_no_machine_with_another_host_key_is_let_in",
    "provider/test_aws_faults.py::test_p24_no_call_outlives_its_deadline",
    "provider/test_aws_lists.py::test_p06_leftovers_are_ours_only_in_all_regions",
    "provider/test_aws_lost.py::test_p02_lost_answers_leave_nothing_and_double_nothing",
    "provider/test_qemu_guests.py::test_p01_a_maker_that_is_killed_while_it_makes_leaves_nothing_that_is_not_found",
    "provider/test_qemu_guests.py::test_p05_a_guest_whose_controller_never_comes_back_powers_itself_off",
    "provision/test_histories.py::test_p2_p3_p4_p12_histories_at_random",
)
"""Slices of what `make promises` plays at full length, in a row of its own."""


@dataclass(frozen=True)
class Ran:
    """What became of some tests; `left_out` are those that were skipped."""

    passed: int
    failed: int
    left_out: int
    code: int
    out: str

    @property
    def broken(self) -> int:
        """How many failed; one at least where the run itself ended badly, whatever its last line says."""
        return self.failed or int(self.code != 0)


def chosen(ids: list[str]) -> tuple[list[str], list[str]]:
    """The numbered tests among some ids without those of a row of its own; and the rows' that none of them is."""
    numbered = [one for one in ids if _NUMBERED.search(one)]
    stale = [own for own in OWN_ROWS if not any(_is(one, own) for one in numbered)]
    return [one for one in numbered if not any(_is(one, own) for own in OWN_ROWS)], stale


def _is(id: str, own: str) -> bool:
    return id.partition("[")[0].endswith(f"tests/{own}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all others; a name in OWN_ROWS that no test has any more would hide nothing and is an error."""
    kept, stale = chosen([item.nodeid for item in items])
    if stale:
        raise pytest.UsageError(f"no such test: {', '.join(stale)}")
    wanted = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
    items[:] = [item for item in items if item.nodeid in wanted]


def numbered(*more: str) -> Ran:
    """Run them all, and count."""
    return counted("-p", "tests.numbered", *more)


def counted(*words: str, **environ: str) -> Ran:
    """Run pytest with some words, and count."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environ})
    lines = done.stdout.splitlines()
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", lines[-1] if lines else "")}
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    return Ran(counts.get("passed", 0), failed, counts.get("skipped", 0), done.returncode, done.stdout + done.stderr)
