"""Claims as people write them, and every mistake in one line."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.answer.sla.claims import bound_claim, parse_claim
from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.service_level import Calendar, Quantity, Statistic, Window


@pytest.mark.parametrize(
    ("text", "quantity", "statistic", "limit", "window"),
    [
        ("availability >= 99.9 % a month", Quantity.AVAILABILITY, Statistic.SHARE, 0.999, Window(1, Calendar.MONTH)),
        ("availability>=0.995", Quantity.AVAILABILITY, Statistic.SHARE, 0.995, None),
        ("p99 <= 300 ms over 1 month", Quantity.RESPONSE, Statistic.PERCENTILE, 0.3, Window(1, Calendar.MONTH)),
        ("p99 <= 300 ms in a month", Quantity.RESPONSE, Statistic.PERCENTILE, 0.3, Window(1, Calendar.MONTH)),
        ("p99.9 response time < 2 s", Quantity.RESPONSE, Statistic.PERCENTILE, 2.0, None),
        ("median <= 80 ms per day", Quantity.RESPONSE, Statistic.PERCENTILE, 0.08, Window(1, Calendar.DAY)),
        ("mean response <= 0.2 s over 30 days", Quantity.RESPONSE, Statistic.MEAN, 0.2, Window(30, Calendar.DAY)),
        ("max latency <= 2 s", Quantity.RESPONSE, Statistic.MAXIMUM, 2.0, None),
        ("p5 tool_op_per_s >= 100", Quantity.MEASURED, Statistic.PERCENTILE, None, None),
        ("mean rtt_s path=zone <= 1 ms over 2 hours", Quantity.MEASURED, Statistic.MEAN, None,
         Window(2, Calendar.HOUR)),
    ],
)  # fmt: skip
def test_a_claim_is_read(
    text: str, quantity: Quantity, statistic: Statistic, limit: float | None, window: Window | None
) -> None:
    found = parse_claim(text)
    assert (found.quantity, found.statistic, found.limit, found.window) == (quantity, statistic, limit, window)


def test_the_share_that_must_do_as_the_limit_says_follows_from_the_direction() -> None:
    assert parse_claim("p99 <= 300 ms").share == 0.99
    assert parse_claim("p5 tool_op_per_s >= 100").share == 0.95
    assert parse_claim("max <= 3 s").share == 1.0
    assert parse_claim("mean <= 3 s").share is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("availability >= 101 %", "asks for an availability of 101 %, above 100 %"),
        ("availability <= 99 %", "asks for no least availability"),
        ("p99 availability >= 99 %", "availability is a share and has no percentile"),
        ("p100 <= 1 s", "has no percentile between 0 and 100"),
        ("p99 <= 300", "needs a unit of time"),
        ("p99 >= 1 s", "asks for slow answers"),
        ("p99 <= -1 s", "has no time above zero"),
        ("response <= 1 s", "names no figure of the response time"),
        ("rtt_s <= 1 ms", "names no figure of 'rtt_s'"),
        ("p99 = 1 s", "bounds nothing from one side"),
        ("p99 <= 300 ms over 40 years", "a window of '40 year"),
        ("as fast as ever", "is no requirement"),
        ("", "is no requirement"),
    ],
)
def test_a_mistake_is_one_line_with_what_next(text: str, told: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_claim(text)
    (fault,) = caught.value.faults
    assert fault.where == "--claim"
    assert told in fault.what
    assert fault.next


def test_the_limit_of_a_measurement_is_in_its_unit() -> None:
    claim = parse_claim("p99 rtt_s <= 2 ms")
    assert bound_claim(claim, "rtt_s path=zone", METRICS["rtt_s"]).limit == 0.002
    with pytest.raises(UserMistake, match="'2 MB' is not a number in s"):
        bound_claim(parse_claim("p99 rtt_s <= 2 MB"), "rtt_s", METRICS["rtt_s"])


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.text(max_size=40))
def test_any_text_is_a_claim_or_a_mistake_of_one_line(text: str) -> None:
    with suppress(UserMistake):
        assert parse_claim(text).text == text.strip()
