"""The shapes of a scenario file: a world-wide service to simulate."""

import re
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field

from cloudcmp.model.scenario import DAY_S, Arrivals, Balancing, Broker, Discipline, Mode, ServiceTimes
from cloudcmp.study import quantities
from cloudcmp.study.faults import shown
from cloudcmp.study.shape import Cash, Duration, Shape, Share, Text, Whole, Word, schema_number
from cloudcmp.units import Money, parse_bytes, parse_seconds

MOST_DAYS = 7
_MOST_USERS = 10**9
_Word = TypeVar("_Word", bound=StrEnum)
_WAY = re.compile(r"(.+?)\s+to\s+(.+)")


def _users(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_USERS:
        raise ValueError(f"{shown(value)} is not a number of users from 0 to {_MOST_USERS}; write e.g. 1000")
    return value


def _online(value: object) -> tuple[int, int]:
    """Users online in peak hours and at other times; one number is both."""
    if not isinstance(value, dict):
        return _users(value), _users(value)
    if set(value) != {"peak", "off_peak"}:
        raise ValueError("it needs peak and off_peak; write e.g. users: {peak: 1000, off_peak: 100}")
    return _users(value["peak"]), _users(value["off_peak"])


def _above_zero(value: object) -> float:
    if not quantities.is_number(value) or float(str(value)) <= 0:
        raise ValueError(f"{shown(value)} is not a number above 0; write e.g. 250")
    return float(str(value))


def _word_of(kind: type[_Word]) -> BeforeValidator:
    """A reader of one of the words of an enumeration."""

    def read(value: object) -> _Word:
        if value not in tuple(kind):
            raise ValueError(f"{shown(value)} is not known; write {', '.join(kind)}")
        return kind(str(value))

    return BeforeValidator(read)


def _rate(value: object) -> float:
    if not quantities.is_number(value) or not 0 < float(str(value)) <= 3600 * 1000:
        raise ValueError(f"{shown(value)} is not a number of requests of a user in an hour; write e.g. 60")
    return float(str(value))


def _bytes(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} needs a unit of size; write e.g. 100 B or 320 KB")
    return parse_bytes(value)


def _hours(value: object) -> tuple[float, float]:
    """The seconds of the day at which the peak begins and ends; the end may be before the beginning."""
    begin, end = quantities.hours(value)
    return float(begin), float(end if end <= DAY_S else end - DAY_S)


def _time(value: object) -> float:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} needs a unit of time; write e.g. 25 ms")
    seconds = parse_seconds(value)
    if not 0 < seconds <= 60:
        raise ValueError(f"{shown(value)} is not between 0 and a minute; write e.g. 25 ms")
    return seconds


def _transfer(value: object) -> Money:
    price = quantities.traffic_price(value)
    return Money(price.amount, price.currency)


def _price(value: object) -> Money:
    price = quantities.machine_price(value)
    return Money(price.amount_per_hour, price.currency)


def _latencies(value: object) -> tuple[tuple[tuple[str, str], float], ...]:
    """Latencies of one way by `PLACE to PLACE`."""
    next_ = "write e.g. {NA to EU: 130 ms}"
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{shown(value)} changes no latency; {next_}")
    found = []
    for key, text in value.items():
        match = _WAY.fullmatch(str(key))
        if match is None:
            raise ValueError(f"{shown(key)} names no two places; {next_}")
        found.append(((match[1], match[2]), _time(text)))
    return tuple(found)


_Users = Annotated[int, BeforeValidator(_users)]
_Bytes = Annotated[int, BeforeValidator(_bytes)]
_Hours = Annotated[tuple[float, float], BeforeValidator(_hours)]
_Time = Annotated[float, BeforeValidator(_time)]
_Rate = Annotated[float, BeforeValidator(_rate)]
_Latencies = Annotated[tuple[tuple[tuple[str, str], float], ...], BeforeValidator(_latencies)]


class BaseShape(Shape):
    """One entry of `user_bases`."""

    name: Word
    region: Word
    users: Annotated[tuple[int, int], BeforeValidator(_online)]
    peak: _Hours | None = None
    requests_per_hour: _Rate
    request: _Bytes
    response: _Bytes | None = None


class CentreShape(Shape):
    """One entry of `data_centres`."""

    name: Word
    region: Word
    machines: Whole
    hosts: Whole | None = None
    processors: Whole | None = None
    price: Annotated[Money, BeforeValidator(_price)] | None = None
    transfer: Annotated[Money, BeforeValidator(_transfer)] | None = None


class GroupingShape(Shape):
    """How many requests are simulated as one."""

    users: Whole
    requests: Whole


class WorkShape(Shape):
    """The service time of a request by the work that it is."""

    instructions: Annotated[float, BeforeValidator(_above_zero)]
    mips: Annotated[float, BeforeValidator(_above_zero)]


class MeasuredShape(Shape):
    """A service time that a study measured."""

    study: Word
    cell: Word
    candidate: Word | None = None


class MatrixShape(Shape):
    """Where a matrix comes from, and what is changed in it."""

    csv: Word | None = None
    wan: Word | None = None
    change: _Latencies | None = None


class SearchShape(Shape):
    """The value of `search`."""

    choose: Whole
    target: _Time | None = None
    share: Share | None = None
    at: Literal["each base", "overall"] = "each base"
    budget: Cash | None = None


class VariantShape(Shape):
    """One entry of `variants`."""

    why: Text
    latency: _Latencies | None = None
    peak: dict[str, _Hours] = Field(default_factory=dict)
    compat: Literal["none"] | None = None
    deployments: list[Word] = Field(default_factory=list)


class PublishedShape(Shape):
    """The value of `published`."""

    document: Word
    table: Word
    rows: dict[str, Word]


class ScenarioShape(Shape):
    """A scenario file."""

    schema_: Annotated[int, BeforeValidator(schema_number)] = Field(1, alias="schema")
    name: Word | None = None
    question: Text = ""
    duration: Duration = 86400.0
    runs: Whole = 5
    seed: Annotated[int, BeforeValidator(_users)] = 1
    mode: Annotated[Mode, _word_of(Mode)] = Mode.MESSAGES
    arrivals: Annotated[Arrivals, _word_of(Arrivals)] | None = None
    grouping: GroupingShape | None = None
    broker: Annotated[Broker, _word_of(Broker)] = Broker.CLOSEST
    balancing: Annotated[Balancing, _word_of(Balancing)] = Balancing.ROUND_ROBIN
    serving: Annotated[Discipline, _word_of(Discipline)] = Discipline.SHARING
    service_times: Annotated[ServiceTimes, _word_of(ServiceTimes)] = ServiceTimes.FIXED
    compat: Literal["none", "cloudanalyst"] = "none"
    latency: Any = "cloudanalyst"
    bandwidth: Any = None
    service: Any
    user_bases: list[BaseShape]
    data_centres: list[CentreShape]
    deployments: dict[str, dict[str, Whole]] | None = None
    search: SearchShape | None = None
    variants: dict[str, VariantShape] = Field(default_factory=dict)
    published: PublishedShape | None = None
