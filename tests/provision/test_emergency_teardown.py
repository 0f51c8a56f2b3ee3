"""Leaving at once: what is told of each resource is what came of asking for its end."""

import asyncio
from typing import Any

import pytest

from cloudcmp.errors import Refused
from cloudcmp.model.lease import LeaseEvent
from cloudcmp.provision import request_deletes
from cloudcmp.provision.lifecycle import acquire


def fail(fault: Exception) -> Any:
    def failing() -> None:
        raise fault

    return failing


async def hang(*_: object, **__: object) -> Any:
    await asyncio.Event().wait()


def made(one: Any, *, restart: bool = False) -> Any:
    lease = asyncio.run(acquire(one.ledger, one.cloud, one.candidate, one.launch(), 3600.0))
    if restart:
        one.restart()
    return lease


def asked(one: Any) -> list[str]:
    return [each.why for each in asyncio.run(request_deletes(one.ledger, {"simulated": one.cloud}, 0.2))]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (None, "asked to go, not seen gone"),
        (Refused.at("i-1", "UnauthorizedOperation", ""), "it could not be asked to go: i-1: UnauthorizedOperation"),
        (RuntimeError("a fault of its own"), "it could not be asked to go: a fault of its own"),
    ],
)
def test_p08_only_what_was_asked_to_go_is_told_so(world: Any, fault: Exception | None, told: str) -> None:
    one = world()
    made(one)
    if fault is not None:
        one.cloud.before["destroy"] = fail(fault)
    assert asked(one) == [told]


def test_p08_what_does_not_answer_is_not_waited_for(world: Any) -> None:
    one = world()
    made(one)
    one.cloud.destroy = hang
    assert asked(one) == ["not asked to go in time"]


def test_p08_what_was_not_answered_yet_may_have_been_made(world: Any) -> None:
    one = world()
    made(one)
    one.journal.rows = [row for row in one.journal.rows if row.event is LeaseEvent.INTENT]
    one.restart()
    assert asked(one) == ["it may have been made: there was no answer yet"]


def test_what_this_process_made_is_asked_to_go_without_being_read_back(world: Any) -> None:
    one = world()
    made(one)
    one.log.clear()
    asked(one)
    assert one.log == ["DELETE_ASKED", "destroy"]
    assert one.cloud.holds == []


def test_what_the_ledger_names_is_read_back_first(world: Any) -> None:
    one = world()
    made(one, restart=True)
    one.log.clear()
    asked(one)
    assert one.log == ["find", "DELETE_ASKED", "destroy"]
    assert one.cloud.holds == []


def test_what_is_somebody_elses_is_not_asked_to_go(world: Any) -> None:
    one = world()
    made(one, restart=True)
    one.foreign()
    one.journal.name("launch-0", "sim-foreign")
    one.restart()
    assert all("it is kept" in line for line in asked(one))
    assert "sim-foreign" in one.cloud.holds


def test_what_cannot_be_read_back_in_time_is_not_asked_to_go(world: Any) -> None:
    one = world()
    made(one, restart=True)
    one.cloud.find = hang
    assert asked(one) == ["not asked to go in time"]
    assert len(one.cloud.holds) == 1
