"""Quantities survive the way in and out, and what is not one is refused with an example."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp import units
from cloudcmp.units import Money


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30 min", 1800), ("1.5 s", 1.5), ("2h", 7200), ("7 days", 604800), ("250 us", 250e-6), ("1 week", 604800)],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert units.parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"), [("1 MiB", 1048576), ("1 MB", 1000000), ("4 KiB", 4096), ("0 B", 0), ("1.5 kB", 1500)]
)
def test_sizes_are_bytes(text: str, size: int) -> None:
    assert units.parse_bytes(text) == size


def test_rates_know_bits_from_bytes() -> None:
    assert units.parse_rate("1 Gbit/s") == 125e6
    assert units.parse_rate("10 MB/s") == 10e6
    assert units.parse_rate("1 MiB/s") == 1048576


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.parse_seconds, "30"),
        (units.parse_seconds, "30 MB"),
        (units.parse_seconds, "soon"),
        (units.parse_seconds, "9e999 s"),
        (units.parse_bytes, "0.5 B"),
        (units.parse_bytes, "-1 MiB"),
        (units.parse_bytes, "4096"),
        (units.parse_rate, "10 MB"),
        (units.parse_rate, "10 MB/h"),
        (units.parse_money, "5"),
        (units.parse_money, "0 USD"),
        (units.parse_money, "-3 EUR"),
        (units.parse_money, "5 usd"),
        (units.parse_price_per_hour, "0.10 USD"),
        (units.parse_price_per_hour, "0 USD/h"),
        (units.parse_price_per_hour, "0.1 USD/min"),
        (units.parse_ratio, "3 s"),
    ],
)
def test_what_is_not_a_quantity_is_refused_in_one_line(parse: object, text: str) -> None:
    with pytest.raises(ValueError, match=r"write e\.g\.|too large|zero") as refused:
        parse(text)  # type: ignore[operator]
    assert "\n" not in str(refused.value)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (units.parse_seconds, units.parse_bytes, units.parse_rate, units.parse_money, units.parse_ratio):
        try:
            parse(text)
        except ValueError:
            continue


@given(st.integers(min_value=0, max_value=2**40), st.sampled_from(["B", "KiB", "MiB"]))
def test_sizes_round_trip(count: int, unit: str) -> None:
    assert units.parse_bytes(f"{count} {unit}") == count * units.parse_bytes(f"1 {unit}")


@given(st.floats(min_value=1e-12, max_value=1e17), st.sampled_from(["s", "B/s", "op/s", "flop/s", "ratio", "score"]))
def test_what_is_shown_is_within_half_a_percent(value: float, unit: str) -> None:
    factor, shown_unit = units.scale_of(value, unit)
    shown = units.format_quantity(value, unit).removesuffix(shown_unit)
    assert float(shown) * factor == pytest.approx(value, rel=0.005)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.46e-7, "s", "146 ns"),
        (1.2345e10, "flop/s", "12.3 Gflop/s"),
        (1.38e9, "B/s", "1.38 GB/s"),
        (9.999e9, "B/s", "10.0 GB/s"),
        (3.24e10, "B", "32.4 GB"),
        (0.005, "ratio", "0.500 %"),
        (0.0, "ratio", "0 %"),
        (0.0, "s", "0 s"),
        (350.0, "score", "350 score"),
        (12.0, "1", "12.0"),
    ],
)
def test_people_read(value: float, unit: str, text: str) -> None:
    assert units.format_quantity(value, unit) == text


@given(st.from_regex("[A-Z]{3}", fullmatch=True))
def test_only_a_currency_in_use_is_one(code: str) -> None:
    assert len(units.CURRENCIES) == 155
    if code in units.CURRENCIES:
        assert units.parse_money(f"5 {code}").currency == code
        return
    with pytest.raises(ValueError, match=f"{code} is no currency"):
        units.parse_money(f"5 {code}")


@pytest.mark.parametrize("code", ["XYZ", "XXX", "XTS", "XAU", "DEM", "ANG"])
def test_an_invented_a_bygone_or_no_currency_is_refused(code: str) -> None:
    for parse, text in ((units.parse_money, f"5 {code}"), (units.parse_price_per_hour, f"5 {code}/h")):
        with pytest.raises(ValueError, match=rf"{code} is no currency \(ISO 4217\)"):
            parse(text)


def test_what_is_said_of_a_price_is_not_said_of_a_budget() -> None:
    with pytest.raises(ValueError, match="'0 USD/h' is not more than zero; a price of zero is unknown"):
        units.parse_price_per_hour("0 USD/h")
    with pytest.raises(ValueError, match=r"'-3 EUR' is not more than zero; write e.g. '5 USD'"):
        units.parse_money("-3 EUR")


def test_money_is_exact_and_currencies_do_not_mix() -> None:
    assert units.parse_money("0.10 USD") + units.parse_money("0.20 USD") == Money(Decimal("0.30"), "USD")
    assert units.parse_price_per_hour("0.10 USD/h") * 3 == Money(Decimal("0.30"), "USD")
    with pytest.raises(ValueError, match="USD and EUR"):
        units.parse_money("1 USD") + units.parse_money("1 EUR")
    assert units.format_money(Money(Decimal("1234.5"), "EUR")) == "1234.50 EUR"
    assert units.format_money(Money(Decimal("0.000123"), "USD")) == "0.000123 USD"


def test_durations_are_shown_for_people() -> None:
    shown = [units.format_seconds(s) for s in (0.84, 59.0, 125, 12000, 190000)]
    assert shown == ["0.8 s", "59 s", "2 min 05 s", "3 h 20 min", "2 d 4 h"]
    assert units.format_ratio(1.031) == "+3.1 %"


@given(st.integers(0, 10**6))
def test_one_thing_is_singular_and_everything_else_plural(n: int) -> None:
    assert units.counted(n, "restart") == (f"{n:,} restarts" if n != 1 else "1 restart")
    assert units.are(n) == ("are" if n != 1 else "is")
