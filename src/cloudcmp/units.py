"""Quantities: parsed from text with a unit, kept in SI base units, formatted with a prefix for people."""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation

NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
"""The pattern of a number before its unit."""
_NUMBER = re.compile(rf"\s*({NUMBER})\s*(.*?)\s*")
_CURRENCY = re.compile(r"[A-Z]{3}")
CURRENCIES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY
    COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR
    ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK
    MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF
    SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU
    UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905 - a table that can be read
)
"""The currencies in use for payments (ISO 4217, list one, as of 2026; R).

Without metals, units of account, funds and the codes for tests and for no currency (XTS, XXX).
"""

_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "min": 60.0, "minute": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip
_BYTES = {
    "B": 1, "byte": 1, "bytes": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "PB": 10**15, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
}  # fmt: skip
_BITS = {"bit": 1, "kbit": 10**3, "Mbit": 10**6, "Gbit": 10**9}
TIME_UNITS = tuple(_SECONDS)
SIZE_UNITS = tuple(_BYTES)
RATE_UNITS = tuple(f"{unit}/s" for unit in (*_BYTES, *_BITS))

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_PREFIXED = {"B", "B/s", "bit/s", "op/s", "row/s", "flop/s", "1/s", "task/s"}


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount of money in a currency (ISO 4217); amounts of different currencies are never added."""

    amount: Decimal
    currency: str

    def __add__(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise ValueError(f"{self.currency} and {other.currency} cannot be added")
        return Money(self.amount + other.amount, self.currency)

    def __mul__(self, factor: Decimal | int) -> "Money":
        return Money(self.amount * factor, self.currency)


def _split(text: str, example: str) -> tuple[str, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number with its unit; write e.g. {example!r}")
    return match[1], match[2]


def _finite(number: str, factor: float, text: str) -> float:
    value = float(number) * factor
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large")
    return value


def parse_seconds(text: str) -> float:
    """Seconds of a duration such as `30 min`; raises ValueError if the unit is missing or unknown."""
    number, unit = _split(text, "30 min")
    if unit not in _SECONDS:
        raise ValueError(f"{text!r} needs a unit of time; write e.g. '30 min', '1.5 s' or '7 days'")
    return _finite(number, _SECONDS[unit], text)


def parse_bytes(text: str) -> int:
    """Bytes of a size such as `1 MiB` (2^20) or `1 MB` (10^6); ValueError without a unit or for a part of a byte."""
    number, unit = _split(text, "1 MiB")
    if unit not in _BYTES:
        raise ValueError(f"{text!r} needs a unit of size; write e.g. '1 MiB', '4 KiB' or '512 B'")
    size = Decimal(number) * _BYTES[unit]
    if size != size.to_integral_value() or size < 0:
        raise ValueError(f"{text!r} is not a whole number of bytes; write e.g. '1 MiB'")
    if size > 2**63:
        raise ValueError(f"{text!r} is too large")
    return int(size)


def parse_rate(text: str) -> float:
    """Bytes per second of a rate such as `10 MB/s` or `1 Gbit/s`; raises ValueError if the unit is missing."""
    number, unit = _split(text, "10 MB/s")
    amount, slash, per = unit.partition("/")
    scale = _BYTES.get(amount, _BITS.get(amount, 0) / 8)
    if slash != "/" or per != "s" or not scale:
        raise ValueError(f"{text!r} needs a unit of rate; write e.g. '10 MB/s' or '1 Gbit/s'")
    return _finite(number, float(scale), text)


def parse_ratio(text: str) -> float:
    """A share such as `3 %` or `0.03`; raises ValueError for other units."""
    number, unit = _split(text, "3 %")
    if unit not in {"", "%"}:
        raise ValueError(f"{text!r} is not a share; write e.g. '3 %' or '0.03'")
    return _finite(number, 0.01 if unit == "%" else 1.0, text)


def checked_currency(code: str) -> str:
    """The code of a currency that is in use; raises ValueError for any other text."""
    if code not in CURRENCIES:
        raise ValueError(f"{code} is no currency (ISO 4217); write e.g. USD or EUR")
    return code


def parse_money(text: str) -> Money:
    """An amount such as `5 USD`; raises ValueError for a missing or unknown currency and for zero or less."""
    number, unit = _split(text, "5 USD")
    if not _CURRENCY.fullmatch(unit):
        raise ValueError(f"{text!r} needs a currency; write e.g. '5 USD'")
    checked_currency(unit)
    try:
        amount = Decimal(number)
    except InvalidOperation as error:  # pragma: no cover - the pattern lets only numbers through
        raise ValueError(f"{text!r} is not an amount of money; write e.g. '5 USD'") from error
    if amount <= 0 or not amount.is_finite():
        raise ValueError(f"{text!r} is not more than zero; write e.g. '5 USD'")
    return Money(amount, unit)


def parse_price_per_hour(text: str) -> Money:
    """Money for an hour, written such as `0.10 USD/h`; raises ValueError for another period or a missing currency."""
    money, slash, period = text.rpartition("/")
    if not slash or period.strip() not in {"h", "hour"}:
        raise ValueError(f"{text!r} is no price of one hour; write e.g. '0.10 USD/h'")
    try:
        if (match := _NUMBER.fullmatch(money)) and _CURRENCY.fullmatch(match[2]) and Decimal(match[1]) <= 0:
            raise ValueError(f"{text!r} is not more than zero; a price of zero is unknown: leave it out")
        return parse_money(money)
    except ValueError as error:
        raise ValueError(str(error).replace("5 USD", "0.10 USD/h").replace(repr(money), repr(text))) from error


def _digits(value: float) -> str:
    """Three significant digits, without an exponent for common magnitudes."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    if magnitude >= 1e6 or magnitude < 1e-4:
        return f"{value:.2e}"
    decimals = max(0, 2 - math.floor(math.log10(magnitude)))
    text = f"{value:.{decimals}f}"
    if decimals and len(text.replace("-", "").replace(".", "").lstrip("0")) > 3:  # 9.999 rounds up to 10.00
        text = f"{value:.{decimals - 1}f}"
    return text


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """The factor and unit in which a value is shown to people, as value / factor."""
    magnitude = abs(value)
    if unit == "s":
        smallest = _SMALL[-1] if magnitude else _SMALL[0]
        factor, prefix = next((pair for pair in _SMALL if magnitude >= pair[0]), smallest)
        return factor, f"{prefix}s"
    if unit in _PREFIXED:
        factor, prefix = next((pair for pair in _PREFIXES if magnitude >= pair[0]), _PREFIXES[-1])
        return factor, f"{prefix}{unit}"
    if unit == "ratio":
        return 0.01, "%"
    return 1.0, "" if unit == "1" else unit


def format_in(value: float, factor: float, unit: str) -> str:
    """A value in a display unit chosen by `scale_of`."""
    return f"{_digits(value / factor)} {unit}".rstrip()


def format_quantity(value: float, unit: str) -> str:
    """A value for people: `12.3 Gflop/s`, `146 ns`, `1.38 GB/s`, `0.5 %`."""
    return format_in(value, *scale_of(value, unit))


def format_bound(value: float, unit: str, *, upper: bool) -> str:
    """A bound as `format_quantity` writes values, but rounded away from what it bounds, so that it still holds."""
    factor, name = scale_of(value, unit)
    shown = value / factor
    if shown and math.isfinite(shown):
        digit = Decimal(1).scaleb(math.floor(math.log10(abs(shown))) - 2)
        # Twelve digits first, so that 0.0003 s is not taken for a little less than 300 us.
        shown = float(Decimal(f"{shown:.12g}").quantize(digit, ROUND_CEILING if upper else ROUND_FLOOR))
    return format_in(shown, 1.0, name)


def counted(n: int, what: str) -> str:
    """A number of things: `1 month`, `3 months`."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def are(n: int) -> str:
    """The verb after a number of things: `is` after one."""
    return "is" if n == 1 else "are"


def format_seconds(seconds: float) -> str:
    """A duration for people: `0.8 s`, `2 min 05 s`, `3 h 20 min`, `2 d 4 h`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def format_money(money: Money) -> str:
    """Money for people: two decimals from one unit upwards, else three significant digits."""
    amount = money.amount
    text = f"{amount:.2f}" if abs(amount) >= 1 or amount == 0 else _digits(float(amount))
    return f"{text} {money.currency}"


def format_ratio(ratio: float) -> str:
    """A ratio of two values as a signed change: 1.031 is `+3.1 %`."""
    return f"{(ratio - 1) * 100:+.1f} %"
