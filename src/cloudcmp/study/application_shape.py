"""The shapes of a file that describes an application by its demands."""

import math
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from cloudcmp.study import quantities
from cloudcmp.study.faults import shown
from cloudcmp.study.shape import Duration, Shape, Whole, Word, schema_number
from cloudcmp.units import parse_bytes, parse_seconds

_MOST = 1e12
PERCENTILES = (50, 95, 99)


def _amount(value: object) -> float:
    """A number of operations, above zero; a mean may have a part of one."""
    if not quantities.is_number(value) or not 0 < float(str(value)) <= _MOST:
        raise ValueError(f"{shown(value)} is not a number above 0; write e.g. 2, or leave it out")
    return float(str(value))


def _rows(value: object) -> int:
    """A number of rows."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise ValueError(f"{shown(value)} is not a whole number above 0; write e.g. 100000")
    return value


def _percentile(value: object) -> int:
    """A percentile that cells have."""
    if value not in PERCENTILES:
        raise ValueError(f"{shown(value)} is not measured; write one of {', '.join(map(str, PERCENTILES))}")
    return int(str(value))


def _count(value: object) -> float:
    """A number of events, zero or more."""
    if not quantities.is_number(value) or not 0 <= float(str(value)) <= 1e18:
        raise ValueError(f"{shown(value)} is not a number of at least 0; write e.g. 1000")
    return float(str(value))


def _size(value: object) -> float:
    """Bytes, above zero."""
    size = _bytes(value)
    if size <= 0:
        raise ValueError(f"{shown(value)} is not more than zero; write e.g. 10 MB")
    return size


def _bytes(value: object) -> float:
    """Bytes, zero or more."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} needs a unit of size; write e.g. 10 MB or 512 B")
    return float(parse_bytes(value))


def _seconds(value: object) -> float:
    """Seconds, zero or more, with their unit."""
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} needs a unit of time; write e.g. 5 ms or 1.5 s")
    seconds = parse_seconds(value)
    if seconds < 0:
        raise ValueError(f"{shown(value)} is less than zero; write e.g. 5 ms")
    return seconds


def _shares(value: object) -> dict[int, float]:
    """Shares by a number of threads, which add up to 1."""
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{shown(value)} is no table of shares; write e.g. {{1: 80 %, 2: 20 %}}")
    try:
        shares = {int(key): quantities.share(one) for key, one in value.items()}
    except ValueError:
        raise ValueError(f"{shown(value)} is no table of shares; write e.g. {{1: 80 %, 2: 20 %}}") from None
    total = sum(shares.values())
    if min(shares) < 1 or not math.isclose(total, 1.0, abs_tol=0.01):
        raise ValueError(
            f"the shares are of at least 1 thread and add up to 100 %, not {total * 100:.3g} %; correct them"
        )
    return {many: one / total for many, one in shares.items()}


Amount = Annotated[float, BeforeValidator(_amount)]
Rows = Annotated[int, BeforeValidator(_rows)]
Percentile = Annotated[int, BeforeValidator(_percentile)]
Count = Annotated[float, BeforeValidator(_count)]
Size = Annotated[float, BeforeValidator(_size)]
Bytes = Annotated[float, BeforeValidator(_bytes)]
Time = Annotated[float, BeforeValidator(_seconds)]
Shares = Annotated[dict[int, float], BeforeValidator(_shares)]
Format = Annotated[int, BeforeValidator(schema_number)]


class PlaceShape(Shape):
    """A machine among the candidates."""

    provider: Word
    region: Word = ""
    offering: Word


class RanShape(PlaceShape):
    """A time that the application took on a machine."""

    time: Duration


class MovedShape(Shape):
    """Blobs or messages of one size."""

    count: Amount = 1.0
    size: Size


class OperationsShape(Shape):
    """Operations on services, and processor time."""

    get: Amount | None = None
    put: Amount | None = None
    query: Amount | None = None
    download: MovedShape | None = None
    upload: MovedShape | None = None
    send: Amount | None = None
    receive: Amount | None = None
    cpu: Time = 0.0


class PageShape(OperationsShape):
    """One page, and its weight in the mean of all."""

    weight: Amount = 1.0


class JobShape(OperationsShape):
    """One job: tasks that take the operations each, on so many workers."""

    weight: Amount = 1.0
    tasks: Whole
    workers: Whole = 1


class FileShape(Shape):
    """One static file that users fetch."""

    size: Size
    connect: Whole = 1
    weight: Amount = 1.0
    vantage: Word | None = None


class CpuShape(Shape):
    """Processor time of a program."""

    user: Time
    system: Time = 0.0


class DiskShape(Shape):
    """What a program read from disks and wrote to them."""

    read: Bytes = 0.0
    written: Bytes = 0.0
    reads: Count | None = None
    writes: Count | None = None


class NetworkShape(Shape):
    """What a program received and sent."""

    received: Bytes = 0.0
    sent: Bytes = 0.0


class SwitchesShape(Shape):
    """Context switches."""

    voluntary: Count
    involuntary: Count


class ProgramShape(Shape):
    """One run of a program. The counters that no model uses are kept for people."""

    command: Any = None
    runs: Whole = 1
    elapsed: Duration
    cpu: CpuShape
    parallel: Shares = Field(default_factory=lambda: {1: 1.0})
    waited: Time | None = None
    blocked: Time | None = None
    memory: Size | None = None
    disk: DiskShape | None = None
    network: NetworkShape | None = None
    switches: SwitchesShape | None = None
    instructions: Count | None = None
    cycles: Count | None = None
    cache_misses: Count | None = None


class ApplicationShape(Shape):
    """The top-level keys; one of `KINDS` says what is predicted."""

    KINDS: ClassVar = ("pages", "jobs", "static", "program")

    schema_: Format = Field(1, alias="schema")
    application: Word
    home: PlaceShape | None = None
    entries: Rows | None = None
    percentile: Percentile = 50
    memory: Size | None = None
    benchmarks: list[Word] = Field(default_factory=list)
    measured: list[RanShape] = Field(default_factory=list)
    measured_by: Word | None = None
    pages: dict[str, PageShape] | None = None
    jobs: dict[str, JobShape] | None = None
    static: dict[str, FileShape] | None = None
    program: ProgramShape | None = None
