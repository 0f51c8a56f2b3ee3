"""Poisoned price lists are refused, or leave the price unknown: always in one line, never a wrong price."""

import pytest
from tests.cost.badly_served import SERVED, badly_served
from tests.cost.fates import ASKED, CLEAN, fate
from tests.cost.mutated import mutated
from tests.cost.poisoned import POISONED, poisoned


@pytest.mark.parametrize("kind", CLEAN)
def test_a_clean_list_tells_its_price(kind: str) -> None:
    told = fate(kind, CLEAN[kind]())
    assert told.price is not None, told.told
    assert told.price.amount_per_hour == ASKED[kind][1]


def test_there_are_sixty_and_more_of_every_kind() -> None:
    assert len(POISONED) + len(SERVED) >= 60
    assert {kind for kind, _ in POISONED} == set(CLEAN)


@pytest.mark.parametrize(("kind", "name"), POISONED, ids=lambda one: one.replace(" ", "_"))
def test_p13_a_poisoned_list_tells_no_price(kind: str, name: str) -> None:
    assert poisoned(kind, name) == ""


@pytest.mark.parametrize("name", SERVED, ids=lambda one: one.replace(" ", "_"))
def test_p13_a_list_that_is_badly_served_is_not_taken(name: str) -> None:
    assert badly_served(name) == ""


def test_p13_lists_changed_at_random_tell_no_price_that_is_not_in_them() -> None:
    assert mutated(60, 20260105) == []
