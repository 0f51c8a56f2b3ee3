"""Parses a study's fields into numbers in base units; every ValueError is `what; what next`."""

import ipaddress
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from cloudcmp.catalog import nearest
from cloudcmp.model.metric import Metric
from cloudcmp.model.offering import Price, Volume, is_doubtful_price
from cloudcmp.model.price import Item, Unit, UnitPrice
from cloudcmp.model.study import Caps
from cloudcmp.study.faults import shown
from cloudcmp.study.value_schemas import CAPS_KEYS, MACHINE_KEYS, OPERATIONS, VOLUME_KEYS
from cloudcmp.units import (
    Money,
    checked_currency,
    parse_bytes,
    parse_money,
    parse_price_per_hour,
    parse_rate,
    parse_ratio,
    parse_seconds,
)  # fmt: skip

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_WORDS = {"weekdays": range(5), "weekend": range(5, 7), "all": range(7)}
DAY_NAMES = (*DAYS, *_DAY_WORDS)
_HOURS = re.compile(r"(\d\d?):(\d\d)\s*-\s*(\d\d?):(\d\d)")
_PREFIXED = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kMGTP]?)(\S*)")
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_DAY_S = 86400
_BURST_MOST_S = 7 * _DAY_S  # the most that an agent accepts
_MOST_MONEY = 10**14
LOCAL = "local"
"""The measuring machine that is this one."""


def is_number(value: object) -> bool:
    """True for a finite number (not for true and false)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def duration(value: object) -> float:
    """Seconds, above zero, of text such as `30 min`."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} needs a unit of time; write e.g. 30 min, 1 h or 7 days")
    seconds = parse_seconds(value)
    if seconds <= 0:
        raise ValueError(f"{shown(value)} is not more than zero; write e.g. 30 min")
    return seconds


def money(value: object) -> Money:
    """An amount with its currency."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} needs a currency; write e.g. 5 USD")
    amount = parse_money(value)
    if amount.amount > _MOST_MONEY:
        raise ValueError(f"{shown(value)} is more than all the money there is; write e.g. 5 USD")
    return amount


def yearly_spend(value: object) -> Money:
    """An amount a year, such as `20000 USD/year`; an amount a month counts twelve times."""
    text, slash, period = str(value).partition("/")
    if not isinstance(value, str) or not slash or period.strip() not in _PERIODS:
        raise ValueError(f"{shown(value)} needs a currency and a period; write e.g. 20000 USD/year")
    amount = money(text.strip())
    return Money(amount.amount * _PERIODS[period.strip()], amount.currency)


_PERIODS = {"year": 1, "month": 12}
"""How often each period of a spend is in a year."""


def currency(value: object) -> str:
    """A currency's three letters (ISO 4217)."""
    if not isinstance(value, str) or not re.fullmatch("[A-Z]{3}", value):
        raise ValueError(f"{shown(value)} is no currency; write e.g. currency: USD")
    return checked_currency(value)


def price(value: object) -> Price:
    """A price per hour; zero is refused, because a price of zero is an unknown one."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} needs a currency and its period; write e.g. 0.10 USD/h")
    if re.match(r"\s*[+-]?0*\.?0*(?:[eE][+-]?\d+)?\s*[A-Z]{3}\s*/", value):
        raise ValueError("a price of zero is an unknown price; leave it out, or write e.g. 0.10 USD/h")
    hourly = parse_price_per_hour(value)
    if hourly.amount > _MOST_MONEY:
        raise ValueError(f"{shown(value)} is more than all the money there is; write e.g. 0.10 USD/h")
    return Price(hourly.amount, hourly.currency, "study file")


def machine_price(value: object) -> Price:
    """A machine's price per hour; one that no cloud's machine has is refused."""
    hourly = price(value)
    if is_doubtful_price(hourly.amount_per_hour, hourly.currency):
        raise ValueError(f"{shown(value)} is no price of a machine; write its price an hour, e.g. 0.10 USD/h")
    return hourly


@dataclass(frozen=True, slots=True)
class MeasuringMachine:
    """The machine that measures a service: by default of the candidate's own provider and region.

    Without an `offering` it is this machine, with all its processors.
    """

    offering: str | None
    price: Price | None = None
    provider: str | None = None
    region: str | None = None


def measuring_machine(value: object) -> MeasuringMachine:
    """The machine that measures a service: `local`, or a mapping with its offering, and its price if no list has it."""
    if value == LOCAL:
        return MeasuringMachine(None, provider=LOCAL)
    if not isinstance(value, dict) or not isinstance(value.get("offering"), str):
        raise ValueError(f"{shown(value)} is no machine; write from: local, or from: {{offering: small}}")
    if odd := next((str(key) for key in value if key not in MACHINE_KEYS), None):
        raise ValueError(f"unknown key {shown(odd)}; write from: {{offering: small, price: 0.10 USD/h}}")
    if odd := next((key for key in ("provider", "region") if not isinstance(value.get(key, ""), str)), None):
        raise ValueError(f"{odd} is not a name; write from: {{provider: aws, region: us-east-1, offering: m7i.large}}")
    return MeasuringMachine(
        value["offering"].strip(),
        machine_price(value["price"]) if "price" in value else None,
        value.get("provider"),
        value.get("region"),
    )


def endpoint(value: object) -> str:
    """The URL of a service without its path's last slash: scheme, host and port, and no user, query or fragment."""
    next_ = "write endpoint: http://127.0.0.1:9000"
    if not isinstance(value, str) or not re.fullmatch(r"https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9._~/-]*)?", value):
        raise ValueError(f"{shown(value)} is no address of a service; {next_}")
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        raise ValueError(f"{shown(value)} is no address of a service; {next_}") from None
    if not parts.hostname or port == 0:
        raise ValueError(f"{shown(value)} is no address of a service; {next_}")
    return value.rstrip("/")


_UNIT_PRICES = {"requests": Item.REQUEST, "moved": Item.EGRESS, "stored": Item.STORAGE, "nodes": Item.CAPACITY,
                **dict.fromkeys(OPERATIONS, Item.REQUEST)}  # fmt: skip
_UNIT_PRICE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Z]{3})\s*/\s*(\S+)\s*")
_UNIT_OF = {Item.EGRESS: ("GB", Unit.GB), Item.STORAGE: ("GB-month", Unit.GB_MONTH), Item.CAPACITY: ("h", Unit.HOUR)}


def unit_prices(value: object) -> tuple[UnitPrice, ...]:
    """Prices of a service for its units of use; zero is refused, because a price of zero is an unknown one.

    `requests` is the price of all requests that have none of their own, under the name of their operation.
    """
    next_ = "write prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB, stored: 0.023 USD/GB-month}"
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{shown(value)} is no table of prices; {next_}")
    prices = []
    for key, text in value.items():
        item = _UNIT_PRICES.get(str(key))
        match = _UNIT_PRICE.fullmatch(text) if isinstance(text, str) else None
        if item is None or match is None:
            raise ValueError(f"{shown(key)}: {shown(text)} is no price for a unit of use; {next_}")
        amount, unit = Decimal(match[1]), match[3]
        if amount <= 0 or amount > _MOST_MONEY:
            raise ValueError(f"{shown(key)}: a price of zero is an unknown price; leave it out, or {next_}")
        if item is Item.REQUEST:
            if not unit.isdecimal() or int(unit) < 1:
                raise ValueError(f"{shown(key)}: {shown(text)} names no number of requests; {next_}")
            million, of_one = amount * 1_000_000 / int(unit), str(key) if key in OPERATIONS else ""
            prices.append(UnitPrice(item, million, match[2], Unit.MILLION, "study file", operation=of_one))
            continue
        per, of = _UNIT_OF[item]
        if unit != per:
            raise ValueError(f"{shown(key)}: {shown(text)} is not for {per}; {next_}")
        prices.append(UnitPrice(item, amount, match[2], of, "study file"))
    if len({one.currency for one in prices}) > 1:
        raise ValueError(f"its prices are in several currencies; {next_}")
    return tuple(prices)


def traffic_price(value: object) -> UnitPrice:
    """The price of a GB between two regions; zero is refused, because a price of zero is an unknown one."""
    match = _UNIT_PRICE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[3] != "GB" or not 0 < Decimal(match[1]) <= _MOST_MONEY:
        raise ValueError(f"{shown(value)} is no price of traffic; write e.g. traffic: 0.02 USD/GB")
    return UnitPrice(Item.EGRESS, Decimal(match[1]), checked_currency(match[2]), Unit.GB, "study file")


_VOLUME_NEXT = "write volume: gp3, or volume: {type: gp3, size: 100 GiB, iops: 3000}"


def volume(value: object) -> Volume:
    """A volume's type, or a mapping with its properties."""
    if isinstance(value, str) and value.strip():
        return Volume(value.strip())
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise ValueError(f"{shown(value)} is no volume; {_VOLUME_NEXT}")
    _check_keys(value, tuple(VOLUME_KEYS), _VOLUME_NEXT)
    size, iops, root = value.get("size"), value.get("iops"), value.get("root", False)
    if size is not None and not isinstance(size, str):
        raise ValueError(f"size: {shown(size)} needs a unit; write e.g. size: 100 GiB")
    if iops is not None and (not isinstance(iops, int) or isinstance(iops, bool) or iops < 1):
        raise ValueError(f"iops: {shown(iops)} is not a whole number above 0; write e.g. iops: 3000")
    if not isinstance(root, bool):
        raise ValueError(f"root: {shown(root)} is neither true nor false; write root: true")
    size_bytes = None if size is None else parse_bytes(size)
    if size_bytes is not None and size_bytes < 1:
        raise ValueError(f"size: {shown(size)} is not more than zero; write e.g. size: 100 GiB")
    cost = price(value["price"]) if "price" in value else None
    return Volume(value["type"].strip(), size_bytes, iops, root, cost)


def networks(value: object) -> str:
    """Addresses in CIDR form, separated by commas, none of them wide."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is no address in CIDR form; write e.g. 203.0.113.7/32")
    texts = []
    for part in value.split(","):
        try:
            net = ipaddress.ip_network(part.strip())
        except ValueError:
            raise ValueError(f"{shown(part.strip())} is no address in CIDR form; write e.g. 203.0.113.7/32") from None
        if net.prefixlen < (24 if net.version == 4 else 64):
            raise ValueError(f"{net} lets in too many; write the address from which you log in, e.g. 203.0.113.7/32")
        texts.append(str(net))
    return ",".join(texts)


_CAPS_NEXT = "write e.g. caps: {burst: 30 min, bytes: 10 TB}"


def caps(value: object) -> Caps:
    """The caps of a study on its traffic and machines, as far as they differ from the defaults."""
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} holds no caps; {_CAPS_NEXT}")
    _check_keys(value, tuple(CAPS_KEYS), _CAPS_NEXT)
    burst_s = duration(value["burst"]) if "burst" in value else None
    if burst_s is not None and burst_s > _BURST_MOST_S:
        raise ValueError(f"burst: {shown(value['burst'])} is more than a week; write e.g. burst: 30 min")
    return Caps(
        burst_s=burst_s,
        bytes_per_s=_above_zero("rate", parse_rate, value["rate"], "1.25 GB/s") if "rate" in value else None,
        packets_per_s=float(_count("packets", value["packets"])) if "packets" in value else None,
        duty=share(value["duty"]) if "duty" in value else None,
        bytes=int(_above_zero("bytes", parse_bytes, value["bytes"], "10 TB")) if "bytes" in value else None,
        machines=_count("machines", value["machines"]) if "machines" in value else None,
    )


def _check_keys(given: Iterable[object], known: Sequence[str], next: str) -> None:
    for key in given:
        if key not in known:
            near = nearest(str(key), known)
            raise ValueError(f"unknown key {shown(key)}; " + (f"nearest: {near}" if near else next))


def _above_zero(key: str, parse: Callable[[str], float], value: object, example: str) -> float:
    if not isinstance(value, str):
        raise ValueError(f"{key}: {shown(value)} needs a unit; write e.g. {key}: {example}")
    number = parse(value)
    if number <= 0:
        raise ValueError(f"{key}: {shown(value)} is not more than zero; write e.g. {key}: {example}")
    return number


def _count(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**53:
        raise ValueError(f"{key}: {shown(value)} is not a whole number above 0; write e.g. {key}: 1000")
    return value


def share(value: object) -> float:
    """A share between 0 and 1, such as `3 %` or 0.03."""
    ratio = float(str(value)) if is_number(value) else parse_ratio(str(value))
    if not 0 <= ratio <= 1:
        raise ValueError(f"{shown(value)} is not between 0 and 1; write e.g. 3 % or 0.03")
    return ratio


def change(value: object) -> float:
    """A relative change, which may be negative, such as `-1 %`."""
    ratio = float(str(value)) if is_number(value) else parse_ratio(str(value))
    if not -1 < ratio <= 10:
        raise ValueError(f"{shown(value)} is no relative change; write e.g. 1 % or -0.01")
    return ratio


def in_unit_of(metric: Metric, value: object) -> float:
    """A number in a metric's unit, bare or with a unit of its own (`12 GB/s`, `80 us`, `5 Gflop/s`, `2 %`)."""
    if is_number(value):
        return float(str(value))
    text = str(value)
    if metric.unit == "s":
        return parse_seconds(text)
    if metric.unit == "B":
        return float(parse_bytes(text))
    if metric.unit == "B/s":
        return parse_rate(text)
    if metric.unit == "ratio":
        return parse_ratio(text)
    match = _PREFIXED.fullmatch(text.strip())
    if match is None or match[3] != metric.unit:
        raise ValueError(f"{shown(value)} is not in {metric.unit}; write e.g. {metric.typical:g} {metric.unit}")
    try:
        number = float(Decimal(match[1])) * _PREFIX[match[2]]
    except ArithmeticError as error:
        raise ValueError(f"{shown(value)} is not a number; write e.g. {metric.typical:g} {metric.unit}") from error
    if not math.isfinite(number):
        raise ValueError(f"{shown(value)} is too large; write e.g. {metric.typical:g} {metric.unit}")
    return number


def days(value: object) -> tuple[int, ...]:
    """The numbers of the days (Monday is 0) in a list of names, or of one of the words."""
    words = value if isinstance(value, list) else [value]
    numbers: set[int] = set()
    for word in words:
        if word in DAYS:
            numbers.add(DAYS.index(word))
        elif isinstance(word, str) and word in _DAY_WORDS:
            numbers.update(_DAY_WORDS[word])
        else:
            known = ", ".join(DAY_NAMES)
            close = nearest(str(word), DAY_NAMES)
            raise ValueError(f"{shown(word)} is no day; " + (f"nearest: {close}" if close else f"use {known}"))
    if not numbers:
        raise ValueError("no day is named; write e.g. [mon, tue] or weekdays")
    return tuple(sorted(numbers))


def hours(value: object) -> tuple[int, int]:
    """Seconds after midnight at which a window opens and closes; `22:00-06:00` closes on the next day."""
    match = _HOURS.fullmatch(value.strip()) if isinstance(value, str) else None
    numbers = [int(part) for part in match.groups()] if match else [99]
    if match is None or max(numbers[0], numbers[2]) > 24 or max(numbers[1], numbers[3]) > 59:
        raise ValueError(f"{shown(value)} is no time window; write e.g. 09:00-17:00 or 22:00-06:00")
    opens, closes = numbers[0] * 3600 + numbers[1] * 60, numbers[2] * 3600 + numbers[3] * 60
    if opens >= _DAY_S or closes > _DAY_S or opens == closes:
        raise ValueError(f"{shown(value)} is no time window; write e.g. 09:00-17:00, or 00:00-24:00 for a whole day")
    return opens, closes if closes > opens else closes + _DAY_S


def timezone(value: object) -> str:
    """The name of a time zone that exists."""
    text = str(value)
    try:
        ZoneInfo(text)
    except (OSError, ValueError, KeyError) as error:
        close = nearest(text, available_timezones())
        advice = f"nearest: {close}" if close else "write e.g. Europe/Stockholm or UTC"
        raise ValueError(f"unknown time zone {shown(value)}; {advice}") from error
    return text
