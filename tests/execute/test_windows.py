"""Rounds wait for their session, and for nothing once it is known that none will be launched."""

import asyncio
from types import SimpleNamespace

from cloudcmp.execute import study
from cloudcmp.execute.context import Halt, RunContext
from cloudcmp.model.plan import Launch
from cloudcmp.model.study import Session
from cloudcmp.model.trial import LaunchReason

MIDNIGHT = 1_700_006_400.0


class Clock:
    """Time that passes as it is slept through."""

    def __init__(self, now: float) -> None:
        self._now = now
        self.ended: list[str] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self._now += seconds


def waited(clock: Clock, over: list[str], *, wait: bool = True) -> str:
    session = Session("day", (0, 1, 2, 3, 4, 5, 6), 9 * 3600, 17 * 3600, "UTC")
    plan = SimpleNamespace(sessions=[session], every_s=None, start_at=MIDNIGHT)
    launch = Launch(0, 0, 0, "day", 0.0, 1)

    def told() -> str:
        return over[0] if clock.now() > MIDNIGHT + 3600 and over else ""

    return asyncio.run(study.until_open(plan, launch, clock, told, wait=wait))  # type: ignore[arg-type]


def test_a_round_waits_for_its_session() -> None:
    clock = Clock(MIDNIGHT)
    assert "session day starts at" in waited(clock, [], wait=False)
    assert waited(clock, []) == ""
    assert clock.now() >= MIDNIGHT + 9 * 3600


def test_nothing_is_waited_for_once_nothing_will_be_launched() -> None:
    clock = Clock(MIDNIGHT)
    assert waited(clock, ["95 % of the budget: nothing new is launched"]).startswith("95 %")
    assert clock.now() < MIDNIGHT + 2 * 3600


def test_p31_what_halts_a_study_is_a_fault_unless_it_is_money() -> None:
    def crew() -> RunContext:
        bench = SimpleNamespace(stop=asyncio.Event(), progress=SimpleNamespace(note=lambda _text: None))
        return RunContext(None, None, {}, None, bench, None, Halt())  # type: ignore[arg-type]

    poor, cut, late = crew(), crew(), crew()
    poor.launch_no_more("the budget is 1 USD")
    poor.stop_all("expired", LaunchReason.ACCOUNT_FAULT)
    cut.stop_all("expired", LaunchReason.ACCOUNT_FAULT)
    late.postpone("quota", LaunchReason.ACCOUNT_FAULT)
    assert (poor.halt.fault, poor.over()) == (False, "the budget is 1 USD")
    assert (cut.halt.fault, cut.over()) == (True, "expired")
    assert (late.halt.fault, late.over()) == (True, "")
