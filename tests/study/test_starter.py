"""The first study from five answers."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.catalog import place_of
from cloudcmp.model.study import Study
from cloudcmp.study import questions, read_text, starter
from cloudcmp.study.starter import Answers, Form
from cloudcmp.units import Money

CHOICES = {
    "--for": st.sampled_from(list(starter.PURPOSES)),
    "--users": st.sampled_from(list(starter.REGIONS)),
    "--size": st.sampled_from(["small", "medium", "large", "xlarge", "2/8", "96/768"]),
    "--matters": st.lists(st.sampled_from([*starter.MATTERS, starter.PRICE]), min_size=1, unique=True).map(",".join),
    "--budget": st.sampled_from(["20 USD", "0.5 EUR"]),
}
GIVEN = st.fixed_dictionaries({}, optional=CHOICES)


def study(told: Answers, clouds: tuple[str, ...], form: Form) -> Study:
    providers = frozenset({"simulated", *starter.CLOUDS})
    text = starter.starter_text(told, clouds, form)
    assert max(map(len, text.splitlines())) <= 120
    return read_text(text, "start.yaml", providers=providers, billed=frozenset(starter.CLOUDS))


@settings(deadline=None, max_examples=25)
@given(GIVEN, st.lists(st.sampled_from(starter.CLOUDS), unique=True).map(tuple))
def test_whatever_is_answered_gives_a_study_that_can_be_read(given_: dict[str, str], clouds: tuple[str, ...]) -> None:
    told = questions.answers(given_)
    for form in starter.forms(starter.measured(told.matters)):
        read = study(told, clouds, form)
        # In one cloud alone there would be nothing to compare with.
        assert [one.provider for one in read.candidates] == list(
            clouds * 2 if len(clouds) == 1 else clouds or ["simulated"] * 3
        )
        assert read.launches == form.launches >= 6
        assert read.budget == told.budget
        assert read.decide


def test_what_is_not_answered_has_a_default() -> None:
    told = questions.answers({})
    assert told == Answers("general", "europe", 2, 8, ("cpu", "memory", "disk"), Money(Decimal(20), "USD"))
    assert questions.answers({"--for": "web"}).matters == ("cpu", "scaling", "network")
    assert questions.answers({"--for": "web", "--matters": "disk"}).matters == ("disk",)


def test_each_region_of_a_starter_is_where_its_users_are() -> None:
    parts = {"us": "US", "europe": "Europe", "asia": "Asia", "australia": "Australia", "south-america": "South America"}
    for users, part in parts.items():
        for provider in starter.CLOUDS:
            place = place_of(provider, starter.region_of(users, provider))
            assert place is not None
            assert place.part == part


def cost_of(form: Form) -> Money:
    """Something that each part of a form makes dearer."""
    return Money(Decimal(form.launches * (2 + form.runs) * (3 + len(form.matters))), "USD")


@given(st.integers(1, 2000), st.lists(st.sampled_from(list(starter.MATTERS)), min_size=1, unique=True))
def test_the_dearest_form_that_fits_is_taken(budget: int, matters: list[str]) -> None:
    money = Money(Decimal(budget), "USD")
    form, worst = starter.fitting(matters, cost_of, money)
    fits = [one for one in starter.forms(matters) if cost_of(one).amount <= budget]
    assert form == (fits[0] if fits else list(starter.forms(matters))[-1])
    assert worst == cost_of(form)
    assert form.matters == tuple(matters[: len(form.matters)])  # what matters most is kept


def test_without_a_price_the_first_form_is_taken() -> None:
    form, worst = starter.fitting(["cpu", "disk"], lambda _: None, Money(Decimal(1), "USD"))
    assert (form, worst) == (Form(8, 2, ("cpu", "disk")), None)


def test_what_the_budget_does_not_bear_is_named_in_the_file() -> None:
    told = questions.answers({"--matters": "cpu,network,disk"})
    text = starter.starter_text(told, (), Form(6, 1, ("cpu",)))
    assert "Left out, for the budget does not bear it: network, disk." in text
    assert "disk_op_per_s" not in text


@pytest.mark.parametrize(
    ("matters", "measured"),
    [
        ("price", ("cpu", "memory")),
        ("cpu,price,network", ("cpu", "network")),
        ("price,network,disk", ("disk", "network")),
        ("network,price", ("network", "cpu", "memory")),
        ("scaling,price,network,memory", ("scaling", "memory", "network")),
        ("disk,scaling", ("disk", "scaling")),
    ],
)
def test_the_price_is_compared_by_what_is_measured(matters: str, measured: tuple[str, ...]) -> None:
    told = questions.answers({"--matters": matters})
    assert starter.measured(told.matters) == measured
    form = next(starter.forms(measured))
    assert starter.left_out(told, form) == []
    read = study(told, (), form)
    assert ("does most for its price" in read.question) == ("price" in matters)


def test_a_price_that_the_budget_leaves_no_room_for_is_left_out() -> None:
    told = questions.answers({"--matters": "network,price"})
    form = Form(6, 1, ("network",))
    assert starter.left_out(told, form) == ["cpu", "memory", "price"]
    text = starter.starter_text(told, (), form)
    assert "Left out, for the budget does not bear it: cpu, memory, price." in text
    assert "work for money" not in text
    assert "is best" in text


@pytest.mark.parametrize("name", starter.MATTERS)
def test_work_for_money_is_said_of_what_has_it(name: str) -> None:
    assert starter.has_work(name) == (name in {"cpu", "memory", "disk"})
