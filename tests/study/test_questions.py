"""The five questions of `start`: answers are understood as people write them, or refused in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.catalog.places import PLACES
from cloudcmp.study import questions, starter
from cloudcmp.study.user_places import nearest_place

OPTIONS = [one.option for one in questions.QUESTIONS]


@pytest.mark.parametrize(
    ("option", "said", "text"),
    [
        ("--budget", "20 usd", "20 USD"),
        ("--budget", "EUR 20.50", "20.50 EUR"),
        ("--budget", "€20", "20 EUR"),
        ("--budget", "20 euros", "20 EUR"),
        ("--budget", "£5", "5 GBP"),
        ("--budget", "US$ 20", "20 USD"),
        ("--budget", "1e2 CHF", "1E+2 CHF"),
        ("--users", " Asia ", "asia"),
        ("--size", "Medium", "medium"),
        ("--size", "4/16", "4/16"),
        ("--matters", "CPU and price", "cpu,price"),
        ("--matters", "cheap, fast", "price,cpu"),
        ("--for", "a small web shop", "web"),
        ("--for", "PostgreSQL database", "database"),
        ("--matters", "cpu memory,cpu", "cpu,memory"),
    ],
)
def test_what_needs_no_assumption_is_taken_without_a_word(option: str, said: str, text: str) -> None:
    assert questions.understood(option, said) == questions.Understood(text)


@pytest.mark.parametrize(
    ("option", "said", "text", "assumed"),
    [
        ("--budget", "20", "20 USD", "20 USD: US dollars are assumed"),
        ("--budget", "20$", "20 USD", "20 USD: US dollars are assumed"),
        ("--budget", "$ 20", "20 USD", "20 USD: US dollars are assumed"),
        ("--budget", "20 dollars", "20 USD", "20 USD: US dollars are assumed"),
        ("--users", "germany", "europe", "germany: europe is taken, with machines in Frankfurt"),
        ("--users", "Tokyo", "asia", "Tokyo: asia is taken, with machines in Singapore"),
        ("--users", "São Paulo", "south-america", "São Paulo: south-america is taken, with machines in São Paulo"),
        ("--size", "4 cpus 16 gb", "4/16", "4 vCPUs and 16 GiB"),
        ("--size", "4x16", "4/16", "4 vCPUs and 16 GiB"),
        ("--size", "4 16", "4/16", "4 vCPUs and 16 GiB"),
        ("--size", "16 GiB RAM, 4 cores", "4/16", "4 vCPUs and 16 GiB"),
        ("--size", "16g4c", "4/16", "4 vCPUs and 16 GiB"),
        ("--size", "4 vCPUs and 16 GB of memory", "4/16", "4 vCPUs and 16 GiB"),
    ],
)
def test_what_is_assumed_is_said(option: str, said: str, text: str, assumed: str) -> None:
    assert questions.understood(option, said) == questions.Understood(text, assumed)


@pytest.mark.parametrize(
    ("said", "users"),
    [
        ("de", "europe"), ("France", "europe"), ("UK", "europe"), ("the Netherlands", "europe"), ("dubai", "europe"),
        ("California", "us"), ("new york", "us"), ("U.S.", "us"), ("canada", "us"), ("us-west-2", "us"),
        ("brazil", "south-america"), ("India", "asia"), ("HONG KONG", "asia"), ("New Zealand", "australia"),
        ("eu", "europe"), ("South Africa", "europe"),
    ],
)  # fmt: skip
def test_places_of_users_have_a_nearest_place(said: str, users: str) -> None:
    assert nearest_place(said) == users


def test_each_region_and_city_of_the_clouds_is_known() -> None:
    for (provider, region), place in PLACES.items():
        assert nearest_place(region) == nearest_place(place.name) != None, (provider, region)  # noqa: E711
    for users, regions in starter.REGIONS.items():
        assert {nearest_place(region) for region in regions.values()} == {users}


@pytest.mark.parametrize(
    ("option", "said", "says"),
    [
        ("--for", "gaming", "'gaming' is none of web, batch"),
        ("--users", "", "'' is none of europe"),
        ("--users", "mars", "'mars' is none of europe"),
        ("--size", "huge", "such as 2/8"),
        ("--size", "4", "'4' is one number; write vCPUs and GiB, such as 4/16"),
        ("--size", "4 gb 16 gb", "no size"),
        ("--size", "0/8", "no size that a machine has"),
        ("--size", "2/-8", "no size"),
        ("--size", "٢/8", "no size"),
        ("--matters", "cpu,luck", "'luck' is none of cpu"),
        ("--matters", "", "'' is none of cpu"),
        ("--budget", "five", "no amount of money; write e.g. '20 USD'"),
        ("--budget", "1,000", "no amount of money"),
        ("--budget", "20.", "no amount of money"),
        ("--budget", "€20 USD", "names two currencies"),
        ("--budget", "20 XYZ", "XYZ is no currency"),
        ("--budget", "20 %", "no amount of money"),
        ("--budget", "5 euros a month", "the most that the measuring may cost"),
        ("--for", "wbe", "did you mean web"),
        ("--for", "web and batch", "names batch and web"),
        ("--matters", "luck; chance", "'luck' is none of .*; 'chance' is none of "),
        ("--budget", "0", "not more than zero"),
        ("--budget", "0 USD", "not more than zero"),
    ],
)
def test_what_is_no_answer_says_what_may_be_answered(option: str, said: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        questions.understood(option, said)


@given(st.sampled_from(OPTIONS), st.text(max_size=20) | st.from_regex(r"[$€]?[0-9 /x.,]{1,6}( ?[a-zA-Z]{1,6})?"))
def test_any_answer_is_read_or_refused_in_words(option: str, said: str) -> None:
    try:
        again = questions.understood(option, said).text
    except ValueError as refused:
        words = str(refused)
    else:
        assert questions.understood(option, again) == questions.Understood(again)
        return
    assert words


@given(st.integers(1, 1024), st.integers(1, 65536), st.sampled_from(["/", "x", " x ", " ", ", ", " cpus ", "c"]))
def test_a_size_is_read_in_every_spelling(vcpus: int, memory: int, between: str) -> None:
    assert questions.understood("--size", f"{vcpus}{between}{memory}").text == f"{vcpus}/{memory}"
    assert questions.understood("--size", f"{memory} GiB and {vcpus} vCPUs").text == f"{vcpus}/{memory}"


@given(st.decimals("0.01", 10**6, places=2), st.sampled_from(["{} usd", "USD{}", "{}$", "$ {}", "{}"]))
def test_money_is_read_in_every_spelling(amount: object, spelling: str) -> None:
    assert questions.understood("--budget", spelling.format(amount)).text == f"{amount} USD"


def test_each_question_has_words_and_a_default_that_answers_it() -> None:
    for number, one in enumerate(questions.QUESTIONS, 1):
        assert one.words.startswith(f"{number}/5 ")
        assert all(choice in one.explained for choice in one.choices)
        default = questions.default_of(one.option, {})
        assert questions.understood(one.option, default) == questions.Understood(default)
