"""Price lists that are fetched for the first study, from a loopback server that answers as the providers do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudcmp.app import start as study_start
from cloudcmp.cost.sources.fetchers import KEY
from cloudcmp.model.start import CloudAccess
from cloudcmp.report.first_study import fetched_line
from cloudcmp.study import questions
from tests.cost.served import Sources, served
from tests.emulated.wire import Answer, Request

ANSWERS = questions.answers({})
HERE = (("aws", "eu-central-1"),)
BOTH = (CloudAccess("aws", True, "account 1"), CloudAccess("azure", False, "no sign of credentials"))


@pytest.fixture(autouse=True)
def own_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A book of the test's own, and no way out."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(KEY, raising=False)
    for name in ("AWS", "AZURE", "GCP"):
        monkeypatch.setenv(f"CLOUDCMP_PRICES_{name}", "http://127.0.0.1:9")


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sources]:
    """Amazon's list."""
    handler = Sources()
    with served(handler) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_AWS", address)
        yield handler


def test_the_list_of_a_cloud_with_credentials_is_fetched_once(sources: Sources) -> None:
    assert study_start.missing_price_lists(ANSWERS, BOTH, None) == HERE
    assert study_start.missing_price_lists(ANSWERS, BOTH, False) == ()
    said: list[str] = []
    (brought,) = study_start.fetch_price_lists(HERE, said.append)
    assert brought.prices > 0
    assert brought.fault == ""
    assert said[0] == "fetching the price list of aws in eu-central-1, for at most 10 min 00 s"
    assert study_start.missing_price_lists(ANSWERS, BOTH, None) == ()  # the book knows them now
    assert study_start.missing_price_lists(ANSWERS, BOTH, True) == HERE


def test_without_credentials_lists_are_fetched_where_that_is_asked_for() -> None:
    nobody = (CloudAccess("aws", False, "there are no credentials"),)
    assert study_start.missing_price_lists(ANSWERS, nobody, None) == ()
    assert [name for name, _ in study_start.missing_price_lists(ANSWERS, nobody, True)] == ["aws", "azure", "gcp"]


def test_a_failure_is_one_line_and_the_next_cloud_is_fetched(sources: Sources) -> None:
    failed, brought = study_start.fetch_price_lists((("gcp", "europe-west3"), *HERE), lambda _: None)
    assert "\n" not in fetched_line(failed)
    assert fetched_line(failed).startswith(
        "no prices of gcp were fetched, continuing without them: gcp: Google's catalogue needs"
    )
    assert brought.prices > 0


def test_lists_that_take_too_long_are_left(sources: Sources) -> None:
    (late,) = study_start.fetch_price_lists(HERE, lambda _: None, within_s=1e-9)
    assert late.prices == 0
    assert late.fault


def test_an_answer_that_is_no_list_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def nonsense(request: Request) -> Answer:
        return Answer(body=b"{ no list")

    with served(nonsense) as address:
        monkeypatch.setenv("CLOUDCMP_PRICES_AWS", address)
        (failed,) = study_start.fetch_price_lists(HERE, lambda _: None)
    assert failed.fault
    assert "\n" not in fetched_line(failed)
