"""What every cloud is asked before a study: its date, the clock beside it, and the account that the study is for."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.emulated import wire
from tests.provider.every import EVERY, pointed

from cloudcmp.errors import Refused
from cloudcmp.model.offering import Offering
from cloudcmp.model.plan import Candidate
from cloudcmp.provider.common import findings


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose local time is five hours behind UTC."""
    monkeypatch.setenv("TZ", "XXX5")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", EVERY)
def test_a_date_without_a_zone_is_one_of_utc_at_every_cloud(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    send = wire._send

    async def without(writer: asyncio.StreamWriter, answer: wire.Answer) -> bool:
        heads = {key: value.removesuffix(" GMT") if key == "Date" else value for key, value in answer.headers.items()}
        assert heads["Date"][-1].isdigit()
        return await send(writer, replace(answer, headers=heads))

    monkeypatch.setattr(wire, "_send", without)
    with pointed(name):
        driver = EVERY[name].provider()
        told = asyncio.run(driver.date())
        clock = {one.what: one for one in asyncio.run(driver.check(()))}["clock"]
    assert told == pytest.approx(time.time(), abs=30)
    assert clock.ok is True


@given(st.datetimes(datetime(1901, 1, 1), datetime(9998, 1, 1)), st.integers(-23 * 60, 23 * 60))
def test_a_date_is_the_second_that_it_says(there: datetime, shift_min: int) -> None:
    at = there.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=shift_min)))
    assert findings.parse_http_date(format_datetime(at)) == at.timestamp()
    assert findings.parse_http_date(format_datetime(at.astimezone(UTC), usegmt=True)) == at.timestamp()
    assert (
        findings.parse_http_date(format_datetime(at.astimezone(UTC), usegmt=True).removesuffix(" GMT"))
        == at.timestamp()
    )


@given(st.text(max_size=60))
@example("")
@example("Mon, 01 Jan 99999999999999999999 00:00:00 GMT")
@example("Mon, 01 Jan 2026 00:00:00 +99999999999999999999")
@example("Mon, 01 Jan 0001 00:00:00 +2359")
def test_whatever_a_header_holds_it_is_a_time_or_none(said: str) -> None:
    found = findings.parse_http_date(said)
    assert found is None or isinstance(found, float)


@pytest.mark.parametrize(
    ("off_s", "ok", "says"),
    [(0.0, True, "0 s"), (60.0, True, "60 s ahead"), (-60.0, True, "60 s behind"), (61.0, False, "61 s ahead")],
)
def test_a_clock_may_be_a_minute_off(off_s: float, ok: bool, says: str) -> None:
    found = findings.clock_finding(1_000_000.0, 1_000_000.0 + off_s)
    assert (found.ok, says in found.text) == (ok, True)
    assert bool(found.next) is not ok


def test_a_clock_that_is_not_told_is_neither_right_nor_wrong() -> None:
    assert findings.clock_finding(findings.parse_http_date("soon"), 0.0).ok is None


def _for(*accounts: str | None) -> tuple[Candidate, ...]:
    """Candidates that are pinned to accounts, or to none."""
    sold = Offering("aws", "us-east-1", "t3.micro")
    return tuple(
        Candidate(index, f"c{index}", sold, "aws", options=(("account", one),) if one else ())
        for index, one in enumerate(accounts)
    )


@pytest.mark.parametrize(
    ("id", "pinned", "ok"),
    [
        ("12", ("12",), True),
        ("12", ("12", None), True),
        ("12", (None,), None),
        ("12", ("13",), False),
        ("12", ("12", "13"), False),
        (None, ("12",), None),
        ("", (None,), None),
    ],
)
def test_a_study_is_for_one_account_and_that_is_the_one_that_is_used(
    id: str | None, pinned: tuple[str | None, ...], ok: bool | None
) -> None:
    found = findings.account_finding(
        id, f"account {id}", _for(*pinned), mismatch_hint="use the other one", unknown_text="not told"
    )
    assert found.ok is ok
    assert (found.next == "use the other one") is (ok is False)
    assert (found.text == "not told") is (not id)


def test_what_means_the_same_account_is_the_same() -> None:
    assert findings.account_finding("ab", "it", _for("AB"), mismatch_hint="", normalize=str.lower).ok is True
    assert findings.account_finding("ab", "it", _for("AB"), mismatch_hint="").ok is False


def test_a_refusal_is_told_with_its_candidate_and_what_to_do() -> None:
    found = findings.refusal_finding("image", Refused.at("here", "there is none", "write another"), "c1")
    assert (found.what, found.ok, found.text, found.next) == ("image", False, "c1: there is none", "write another")
    assert findings.refusal_finding("image", Refused.at("here", "there is none", "x")).text == "there is none"
