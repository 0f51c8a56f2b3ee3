"""Launches side by side wait for one another where a study may not have all their machines at once."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from cloudcmp.app import plan as planning
from cloudcmp.errors import UserMistake
from cloudcmp.execute import study
from cloudcmp.execute.context import Halt
from cloudcmp.model.plan import Launch
from cloudcmp.model.study import Caps
from cloudcmp.plan import check_runnable

STUDY = """\
schema: 1
question: How many at once?
candidates:
  - {provider: simulated, region: nimbus, offering: small, count: 3}
probes: [{probe: fma}]
launches: 1
caps: {machines: %d}
"""


def most_at_once(counts: Sequence[int], cap: int, monkeypatch: pytest.MonkeyPatch, stop_at: int = -1) -> list[int]:
    """How many machines there are each time that a launch begins; the launch `stop_at` sets the stop."""
    there, seen, stop = [0], list[int](), asyncio.Event()

    async def carried(crew: Any, launch: Launch, *_rest: object) -> None:
        there[0] += counts[launch.candidate]
        seen.append(there[0])
        if launch.index == stop_at:
            stop.set()
        await asyncio.sleep(0.01)
        there[0] -= counts[launch.candidate]

    monkeypatch.setattr(study, "run_launch", carried)
    candidates = [SimpleNamespace(runner="aws", count=count, simulated=False, id=str(n))
                  for n, count in enumerate(counts)]  # fmt: skip
    crew = SimpleNamespace(
        plan=SimpleNamespace(candidates=candidates, caps=Caps(machines=cap)),
        providers={"aws": SimpleNamespace(host=lambda one: one.id)}, trials=SimpleNamespace(stop=stop), halt=Halt(),
    )  # fmt: skip
    launches = [Launch(n, n, 0, None, 0.0, 1) for n in range(len(counts))]
    asyncio.run(study._run_round(crew, launches, dict.fromkeys(range(len(counts)), ()), {}))  # type: ignore[arg-type]
    return seen


def test_launches_wait_for_one_another_under_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = most_at_once([1, 2, 1, 2, 1, 2], 3, monkeypatch)
    assert len(seen) == 6
    assert max(seen) == 3


def test_where_there_is_room_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_at_once([1, 2, 1, 2], 6, monkeypatch) == [1, 3, 4, 6]


def test_p08_who_waits_for_room_is_not_launched_after_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_at_once([2, 2, 2], 2, monkeypatch, stop_at=0) == [2]


def test_a_launch_that_alone_is_too_many_is_refused_before_anything_is_made() -> None:
    with pytest.raises(UserMistake, match="each launch takes 3 machines, and 2 are the most at once"):
        check_runnable(planning.plan_text(STUDY % 2, "s.yaml"), ["simulated"])
    check_runnable(planning.plan_text(STUDY % 3, "s.yaml"), ["simulated"])
