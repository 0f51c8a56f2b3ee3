"""Rounds wait for their session, and for nothing once it is known that none will be launched."""

import asyncio
import math
from types import SimpleNamespace

from cloudcmp.execute import study
from cloudcmp.execute.context import Halt, RunContext
from cloudcmp.model.plan import Launch
from cloudcmp.model.study import Session
from cloudcmp.model.trial import LaunchReason
from cloudcmp.store.ledger import LaunchRecord

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


HOUR = 3600.0


def opened(now: float, round_: int, begun: float | None, until: float = math.inf) -> tuple[str, float]:
    """Why a round of an hourly study does not start, and when it does; times in hours after the study's start."""
    plan = SimpleNamespace(sessions=[], every_s=HOUR, start_at=MIDNIGHT)
    launch = Launch(0, 0, round_, None, round_ * HOUR, 1)
    clock = Clock(MIDNIGHT + now * HOUR)
    began = None if begun is None else MIDNIGHT + begun * HOUR
    why = asyncio.run(
        study.until_open(plan, launch, clock, lambda: "", wait=True, until=MIDNIGHT + until * HOUR, begun=began)  # type: ignore[arg-type]
    )
    return why, (clock.now() - MIDNIGHT) / HOUR


def test_a_round_starts_at_its_step() -> None:
    assert opened(0.0, 0, None) == ("", 0.0)
    assert opened(0.4, 1, 0.0) == ("", 1.0)


def test_late_rounds_do_not_follow_each_other() -> None:
    # The controller was away from 1 h to 5.5 h: round 1 starts at once, in the step of 5 h, and round 2 in the next.
    assert opened(5.5, 1, 0.0) == ("", 5.5)
    assert opened(5.8, 2, 5.5) == ("", 6.0)
    assert opened(6.9, 3, 6.0) == ("", 7.0)


def test_no_round_starts_from_the_given_time_on() -> None:
    assert opened(0.4, 1, 0.0, until=2.0) == ("", 1.0)
    why, at = opened(0.4, 1, 0.0, until=1.0)
    assert why.startswith("no round starts from ")
    assert at == 0.4


def test_the_round_before_is_not_the_own_one_that_goes_on() -> None:
    launches = [Launch(at, at % 2, at // 2, None, 0.0, 1) for at in range(6)]
    plan = SimpleNamespace(launches=launches)
    records = [LaunchRecord(at, "s", 10.0 * at) for at in range(4)]
    assert study.before_round(plan, records, launches[3]) == 10.0  # type: ignore[arg-type]
    assert study.before_round(plan, records, launches[4]) == 30.0  # type: ignore[arg-type]
    assert study.before_round(plan, [], launches[0]) is None  # type: ignore[arg-type]
