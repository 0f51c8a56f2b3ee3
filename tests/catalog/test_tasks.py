"""What the docs say of CloudCmp's tasks is what the agent does."""

import re
from pathlib import Path

from cloudcmp.catalog import PROBES, expected_s, fill
from cloudcmp.catalog.tables.tasks import TASK_WORK

SOURCE = (Path(__file__).parents[2] / "agent" / "src" / "probe" / "task" / "mod.rs").read_text(encoding="utf-8")
RECIPE = re.compile(r'name: "(\w+)", full: (\d+), small: (\d+)')


def test_the_passes_told_are_the_agents() -> None:
    passes = {name: (int(full), int(small)) for name, full, small in RECIPE.findall(re.sub(r"\s+", " ", SOURCE))}
    disk = re.search(r"DISK_PASSES: \(u32, u32\) = \((\d+), (\d+)\)", SOURCE)
    assert disk
    passes["disk"] = (int(disk[1]), int(disk[2]))
    told = {name: (full, small) for name, (_, full, small, _) in TASK_WORK.items() if name != "cpu"}
    assert told == passes
    assert "const CPU_SHARE: u32 = 4;" in SOURCE


def test_the_tasks_told_are_the_agents() -> None:
    names = re.search(r"const NAMES: &\[&str\] = &\[(.*?)\];", SOURCE, re.DOTALL)
    assert names
    assert re.findall(r'"(\w+)"', names[1]) == list(TASK_WORK)


def test_a_short_task_is_expected_to_be_short_and_a_trial_has_time() -> None:
    assert next(param.short for param in PROBES["task"].params if param.name == "size") == "small"
    small = expected_s("task", fill("task", {"task": "disk", "size": "small"}))
    full = expected_s("task", fill("task", {"task": "disk"}))
    shared = expected_s("task", fill("task", {"task": "disk", "threads": "all"}))
    assert small < 1 < full < shared < 30
    assert expected_s("task", fill("task", {"task": "aes", "threads": "8"})) > 20
