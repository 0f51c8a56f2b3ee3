"""What halts a study from within lets what runs come to its end; only a signal and spent money cut it short."""

import asyncio
import os
import signal
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tests.execute.conftest import Told

from cloudcmp.execute import interruption as stopping
from cloudcmp.execute import study
from cloudcmp.execute import study as study_run
from cloudcmp.execute.context import Halt, RunContext
from cloudcmp.model.plan import Launch
from cloudcmp.model.study import Caps
from cloudcmp.model.trial import LaunchReason

WHY = "aws: ExpiredToken; log in again"
Happens = Callable[[Any, Any], None]
"""What happens to a crew, given what drains and what ends it, once both launches run."""


class Quiet(Told):
    def note(self, text: str) -> None:
        """Nothing is said."""


def came(happens: Happens, monkeypatch: pytest.MonkeyPatch, drain_s: float = 0.05) -> tuple[list[int], str, bool]:
    """Of two launches side by side, and two after them: those that came to their end, why it ended, and whether asked.

    The first one ends as something happens; the second one goes on for longer than a signal would let it.
    """
    ended: list[int] = []
    money: list[Any] = []

    async def carried(crew: RunContext, launch: Launch, *_rest: object) -> None:
        if launch.index == 0:
            await asyncio.sleep(0.05)
            happens(crew, money)
        else:
            await asyncio.sleep(0.5)
            ended.append(launch.index)

    async def watched(_guard: object, _progress: object, drain: object, teardown: object) -> None:
        money.extend((drain, teardown))
        await asyncio.Event().wait()

    async def nothing(*_: object) -> tuple[()]:
        return ()

    monkeypatch.setattr(study, "run_launch", carried)
    monkeypatch.setattr(study_run, "watch_money", watched)
    monkeypatch.setattr(study_run, "release_all", nothing)
    monkeypatch.setattr(stopping.StopSignals.__init__, "__defaults__", (drain_s,))
    candidates = [
        SimpleNamespace(
            runner="a",
            count=1,
            simulated=False,
            service=None,
            id=str(n),
            offering=SimpleNamespace(provider="a", region="r"),
        )
        for n in range(2)
    ]
    trials = tuple(SimpleNamespace(index=n, launch=n, probe="fma", params=()) for n in range(4))
    launches = tuple(Launch(n, n % 2, n // 2, None, 0.0, 1) for n in range(4))
    plan = SimpleNamespace(candidates=candidates, caps=Caps(), launches=launches, trials=trials, sessions=(), checks=(),
                           rounds=2, every_s=None, start_at=0.0)  # fmt: skip
    crew = RunContext(
        plan=plan, providers={"a": SimpleNamespace(host=lambda one: one.id)}, guard=None, halt=Halt(),
        store=SimpleNamespace(plan=plan, attempts=tuple, launches=tuple, folder="out", done=lambda: {0, *ended}),
        provisioning=SimpleNamespace(ledger=SimpleNamespace(time=SimpleNamespace(now=lambda: 0.0))),
        trials=SimpleNamespace(stop=asyncio.Event(), progress=Quiet()),
    )  # type: ignore[arg-type]  # fmt: skip

    def leave(ending: object) -> None:
        raise AssertionError(ending)

    end = asyncio.run(study_run._measure(crew, leave))  # type: ignore[arg-type]
    reason, left, asked = end.reason, end.left, end.interrupted
    assert left == ()
    return ended, reason, asked


def test_p31_what_one_launch_cannot_go_on_for_cuts_no_other_short(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, reason, asked = came(lambda crew, _: crew.stop_all(WHY, LaunchReason.CONTROLLER_FAULT), monkeypatch)
    assert ended == [1]  # it ran to its end, and nothing new was launched
    assert reason == WHY
    assert not asked


def test_p12_from_95_percent_on_nothing_is_launched_and_what_runs_ends_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended, reason, asked = came(lambda _, money: money[0]("4.8 of 5 USD: nothing new is launched"), monkeypatch)
    assert ended == [1]
    assert reason == "4.8 of 5 USD: nothing new is launched"
    assert not asked


def test_p12_at_100_percent_what_runs_is_cut_short_and_the_money_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def happens(crew: RunContext, money: Any) -> None:
        money[0]("4.8 of 5 USD: nothing new is launched")
        money[1]("5 of 5 USD: everything is ended")

    ended, reason, asked = came(happens, monkeypatch, drain_s=60.0)
    assert ended == []
    assert reason == "5 of 5 USD: everything is ended"
    assert not asked  # nobody interrupted it


def test_p08_a_signal_after_a_halt_is_told_after_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def happens(crew: RunContext, _: Any) -> None:
        crew.stop_all(WHY, LaunchReason.CONTROLLER_FAULT)
        os.kill(os.getpid(), signal.SIGTERM)

    ended, reason, asked = came(happens, monkeypatch)
    assert ended == []
    assert reason == f"{WHY}; stopped on request, within the trial that ran"
    assert asked
