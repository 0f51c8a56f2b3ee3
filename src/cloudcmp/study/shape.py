"""The shapes of a study file's parts, and the faults of other shapes."""

from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from cloudcmp.catalog import nearest
from cloudcmp.model.cast import FULL_RATE
from cloudcmp.model.offering import Price, Volume
from cloudcmp.model.price import UnitPrice
from cloudcmp.model.promise import Promise
from cloudcmp.model.study import Caps
from cloudcmp.study import quantities
from cloudcmp.study import value_schemas as schemas
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.promises import promises
from cloudcmp.study.quantities import MeasuringMachine
from cloudcmp.study.tree import Tree
from cloudcmp.units import Money

_MAX_COUNT = 10_000
_LINE_BYTES = 8192


def _word(value: object) -> str:
    """A name: text of one line. A number is accepted as text."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool) or not str(value).strip():
        raise ValueError(f"{shown(value)} is not a name; write a word, in quotes if it looks like something else")
    text = str(value).strip()
    if len(text) > 200 or not text.isprintable():
        raise ValueError(f"{shown(value)} is no name of one line; write a short word")
    return text


def _text(value: object) -> str:
    """Text that may be folded over lines."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{shown(value)} is not a sentence; write it in quotes")
    return " ".join(value.split())


def _whole(value: object) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_COUNT:
        raise ValueError(f"{shown(value)} is not a whole number from 1 to {_MAX_COUNT}; write e.g. 6")
    return value


def _seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError(f"{shown(value)} is not a whole number from 0 to 2^53; write e.g. seed: 1")
    return value


def schema_number(value: object) -> int:
    """The version of a file's format, of which there is one."""
    if value is True or value != 1:
        raise ValueError(f"schema {shown(value)} is not known; write schema: 1, or take a later cloudcmp")
    return 1


def _positive(value: object) -> float:
    """A number above zero whose unit is in the key."""
    if not quantities.is_number(value) or float(str(value)) <= 0:
        raise ValueError(f"{shown(value)} is not a number above 0; its unit is in the key, write e.g. 8")
    return float(str(value))


def _seconds_in_key(value: object) -> float:
    """Seconds, zero or more: a bare number, because the key has the unit, or text with a unit."""
    if not quantities.is_number(value):
        return quantities.duration(value)
    seconds = float(str(value))
    if seconds < 0:
        raise ValueError(f"{shown(value)} is less than 0; write e.g. 30")
    return seconds


def _line(value: object) -> str:
    """One or several lines for a shell."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(f"{shown(value)} is not a line for a shell; write it in quotes, or after |")
    if len(value.encode("utf-8", "replace")) > _LINE_BYTES:
        raise ValueError(f"it is longer than {_LINE_BYTES} bytes; put it into a file")
    return value


def _as_cell(value: object) -> object:
    """The mapping for an entry of `decide` that is only a cell's text."""
    return {"cell": value} if isinstance(value, str) else value


# Each reader of a value stands beside the JSON Schema of what it accepts.
Word = Annotated[str, BeforeValidator(_word), WithJsonSchema(schemas.WORD)]
Text = Annotated[str, BeforeValidator(_text), WithJsonSchema(schemas.SENTENCE)]
Line = Annotated[str, BeforeValidator(_line), WithJsonSchema(schemas.SENTENCE)]
Url = Annotated[str, BeforeValidator(quantities.endpoint), WithJsonSchema(schemas.ENDPOINT)]
Whole = Annotated[int, BeforeValidator(_whole), WithJsonSchema(schemas.WHOLE)]
Positive = Annotated[float, BeforeValidator(_positive), WithJsonSchema(schemas.POSITIVE)]
Duration = Annotated[float, BeforeValidator(quantities.duration), WithJsonSchema(schemas.DURATION)]
Seconds = Annotated[float, BeforeValidator(_seconds_in_key), WithJsonSchema(schemas.SECONDS_IN_KEY)]
Share = Annotated[float, BeforeValidator(quantities.share), WithJsonSchema(schemas.SHARE)]
Change = Annotated[float, BeforeValidator(quantities.change), WithJsonSchema(schemas.CHANGE)]
Cash = Annotated[Money, BeforeValidator(quantities.money), WithJsonSchema(schemas.MONEY)]
MachinePrice = Annotated[Price, BeforeValidator(quantities.machine_price), WithJsonSchema(schemas.PRICE)]
Networks = Annotated[str, BeforeValidator(quantities.networks), WithJsonSchema(schemas.NETWORKS)]
Disk = Annotated[Volume, BeforeValidator(quantities.volume), WithJsonSchema(schemas.VOLUME)]
Machine = Annotated[MeasuringMachine, BeforeValidator(quantities.measuring_machine), WithJsonSchema(schemas.MACHINE)]
TrafficPrice = Annotated[UnitPrice, BeforeValidator(quantities.traffic_price), WithJsonSchema(schemas.TRAFFIC_PRICE)]
UnitPrices = Annotated[
    tuple[UnitPrice, ...], BeforeValidator(quantities.unit_prices), WithJsonSchema(schemas.UNIT_PRICES)
]
Promises = Annotated[tuple[Promise, ...], BeforeValidator(promises), WithJsonSchema(schemas.PROMISES)]
Limits = Annotated[Caps, BeforeValidator(quantities.caps), WithJsonSchema(schemas.CAPS)]
Days = Annotated[tuple[int, ...], BeforeValidator(quantities.days), WithJsonSchema(schemas.days(quantities.DAY_NAMES))]
Hours = Annotated[tuple[int, int], BeforeValidator(quantities.hours), WithJsonSchema(schemas.HOURS)]
Timezone = Annotated[str, BeforeValidator(quantities.timezone), WithJsonSchema(schemas.TIMEZONE)]


class Shape(BaseModel):
    """A part of a file, with known keys only."""

    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class IsolationShape(Shape):
    """Victims and the loads beside them, all with all; the victims are checked one by one."""

    victims: list[Any]
    neighbours: list[Word]
    threads: list[Whole] = [1]
    rates: list[Any] = [FULL_RATE]


class Head(Shape):
    """The top-level keys; the lists are checked entry by entry."""

    schema_: Annotated[int, BeforeValidator(schema_number), WithJsonSchema(schemas.FORMAT)] = Field(1, alias="schema")
    question: Text = ""
    name: Word | None = None
    candidates: list[Any] = []
    probes: list[Any] = []
    isolation: Any = None
    wan: Any = None
    decide: list[Any] = []
    weights: dict[str, Any] = {}
    launches: Whole = 6
    runs: Whole = 2
    sessions: list[Any] = []
    every: Duration | None = None
    for_: Duration | None = Field(None, alias="for")
    until: Share | None = None
    stop: Any = None
    budget: Cash | None = None
    caps: Limits = Caps()
    terms: Any = None
    deadline: Duration | None = None
    seed: Annotated[int, BeforeValidator(_seed), WithJsonSchema(schemas.SEED)] = 1


class MatchShape(Shape):
    """The requested properties of an offering."""

    vcpus: Positive | None = None
    memory_gib: Positive | None = None
    category: Word | None = None


class FaultsShape(Shape):
    """The planted faults of a simulated candidate."""

    capacity: Share = 0.0
    preemption: Share = 0.0
    hang: Share = 0.0
    garbage: Share = 0.0
    lost_answer: Share = 0.0
    stale_list_s: Seconds = 0.0


class CellShape(Shape):
    """The truth planted in a cell; `mean` is parsed in the metric's unit."""

    mean: Any
    cov: Share = 0.02
    between: Share = 0.02
    drift: Change = 0.0
    daily: Share = 0.0


class TruthShape(Shape):
    """The truth planted in a simulated candidate."""

    cells: dict[str, Any] = {}
    boot_s: Seconds | None = None
    faults: FaultsShape = FaultsShape()


class FarShape(Shape):
    """The place of a launch's machines beyond the first."""

    zone: Word | None = None
    region: Word | None = None
    price: MachinePrice | None = None
    traffic: TrafficPrice | None = None


class CandidateShape(Shape):
    """One candidate."""

    provider: Word
    region: Word | None = None
    offering: Word | None = None
    match: MatchShape | None = None
    volume: Disk | None = None
    image: Word | None = None
    os: Literal["linux", "windows"] | None = None
    market: Literal["on-demand", "spot"] | None = None
    tenancy: Literal["shared", "dedicated"] | None = None
    placement: Literal["cluster", "spread", "partition"] | None = None
    credits: Literal["standard", "unlimited"] | None = None
    zone: Word | None = None
    far: FarShape | None = None
    account: Word | None = None
    allow: Networks | None = None
    accept_untracked: Literal[True] | None = None
    network: Word | None = None
    address: Literal["floating", "fixed"] | None = None
    count: Whole = 1
    service: Literal["blob", "table", "queue", "http"] | None = None
    from_: Machine | None = Field(None, alias="from")
    prices: UnitPrices = ()
    api: Literal["firestore", "bigtable", "cosmos-table"] | None = None
    endpoint: Url | None = None
    serve: Line | None = None
    name: Word | None = None
    price: MachinePrice | None = None
    resize_price: MachinePrice | None = None
    advertised: Promises = ()
    truth: TruthShape | None = None


class ProbeShape(Shape):
    """One entry of `probes`."""

    probe: Word | None = None
    suite: Word | None = None
    command: Any = None
    tool: Word | None = None
    install: bool | None = None
    params: dict[str, Any] = {}
    runs: Whole | None = None


class DecideShape(Shape):
    """One entry of `decide`."""

    cell: Word
    margin: Any = None


class SessionShape(Shape):
    """One time window."""

    name: Word
    days: Days
    hours: Hours
    timezone: Timezone


_NEXT = {
    "schema": "write schema: 1",
    "question": 'write e.g. question: "Which cloud is fastest for us?"',
    "candidates": "write - {provider: aws, region: us-east-1, offering: m7i.large}",
    "probes": "write - {probe: stream} or - {suite: cpu}",
    "isolation": "write isolation: {victims: [memory], neighbours: [memory, cpu]}",
    "victims": "write victims: [memory, disk_write], or entries such as {probe: pi}",
    "neighbours": "write neighbours: [memory, cpu, disk_write]",
    "IsolationShape.rates": "write rates: [10 MB/s, max], what a load on the network sends",
    "IsolationShape.threads": "write threads: [1, 2], the numbers of threads of the load",
    "command": "write - command: {name: mine, run: './mine'}",
    "CommandShape.image": "write image: mine.tar, an archive of one image",
    "files": "write files: [bin/mine, data.csv], relative to the study",
    "tool": "write - {tool: fio, params: {rw: randread}}",
    "install": "write install: true, or leave it out",
    "metrics": "write metrics: [{name: frames_per_s, unit: frames/s, better: higher, regex: 'fps=([0-9.]+)'}]",
    "run": "write run: './mine'",
    "better": "write better: higher or better: lower",
    "decide": "write - triad_bytes_per_s, or - {cell: udp_loss_ratio, margin: 1 %}",
    "sessions": "write - {name: peak, days: weekdays, hours: 09:00-17:00, timezone: UTC}",
    "params": "write params: {threads: one}",
    "service": "write service: blob, service: table, service: queue or service: http",
    "vantages": "write vantages: [here, {name: lab, provider: ssh, offering: my-host}]",
    "from": "write from: local, or from: {offering: small}, the machine that asks the service",
    "api": "write api: firestore, api: bigtable or api: cosmos-table",
    "endpoint": "write endpoint: http://127.0.0.1:9000",
    "serve": "write serve: './server --port 9000', a command that serves the endpoint",
    "prices": "write prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB}",
    "advertised": "write advertised: [{of: network, up_to: 10 Gbit/s, source: its data sheet, as_of: 2026-11-01}]",
    "match": "write match: {vcpus: 2, memory_gib: 8, category: general}",
    "truth": "write truth: {cells: {rtt_s: {mean: 200 us}}}",
    "cells": "write cells: {rtt_s: {mean: 200 us}}",
    "mean": "write e.g. mean: 200 us",
    "faults": "write faults: {capacity: 2 %}",
    "volume": "write volume: gp3, or volume: {type: gp3, size: 100 GiB, iops: 3000, price: 0.01 USD/h}",
    "allow": "write allow: 203.0.113.7/32, the address from which you log in",
    "address": "write address: floating or address: fixed",
    "accept_untracked": "write accept_untracked: true, or leave it out",
    "caps": "write caps: {burst: 30 min, rate: 1.25 GB/s, packets: 1000000, bytes: 10 TB, duty: 50 %, machines: 10}",
    "os": "write os: linux or os: windows",
    "market": "write market: spot or market: on-demand",
    "tenancy": "write tenancy: dedicated or tenancy: shared",
    "placement": "write placement: cluster, spread or partition",
    "credits": "write credits: standard, which slows down without credits, or credits: unlimited, which costs more",
    "far": "write far: {zone: us-east-1b} or far: {region: eu-west-1}, the place of the machines beyond the first",
    "traffic": "write traffic: 0.02 USD/GB, the price of what goes between both regions",
    "zone": "write zone: us-east-1b, a zone of the region",
    "weights": "write weights: {fma_flop_per_s: 2, triad_bytes_per_s: 1}",
    "until": "write until: 5 %, to stop once every interval is within 5 % of its value",
    "stop": "write stop: certify, ranking, budget or fixed, or stop: {rule: certify, tolerance: 2 %}",
    "rule": "write rule: certify, ranking, budget or fixed",
    "tolerance": "write tolerance: 2 %, the difference that does not matter to you",
    "StopShape.spend": "write spend: 20000 USD/year, the money that the choice decides over",
    "terms": "write terms: {discounts: [{share: 10 %, provider: aws}]}",
    "discounts": "write discounts: [{share: 10 %, provider: aws, item: instance}]",
    "TermsShape.credits": "write credits: [{money: 50 USD, until: 2027-06-30}]",
    "commitments": "write commitments: [{provider: aws, offering: m7i.large, term: 12 months, hourly: 0.06 USD/h}]",
    "support": "write support: [{provider: aws, minimum: 100 USD, shares: [{share: 10 %}]}]",
    "shares": "write shares: [{up_to: 10000 USD, share: 10 %}, {share: 7 %}]",
    "share": "write e.g. share: 10 %",
    "money": "write e.g. money: 50 USD",
    "minimum": "write e.g. minimum: 100 USD",
    "hourly": "write e.g. hourly: 0.06 USD/h",
    "term": "write e.g. term: 12 months",
    "purchase": "write purchase: reserved or purchase: savings",
    "provider": "see 'cloudcmp list providers'",
    "timezone": "write e.g. timezone: Europe/Stockholm",
    "days": "write e.g. days: weekdays",
    "hours": "write e.g. hours: 09:00-17:00",
    "cell": "write a metric, or a metric and key=value;key=value",
    "name": "write e.g. name: peak",
}


_S = TypeVar("_S", bound=Shape)


def fit(shape: type[_S], tree: Tree, data: Any, path: Path, faults: Faults) -> _S | None:
    """The data at a path in its shape, None if it has another; adds each difference to `faults`."""
    try:
        return shape.model_validate(_as_cell(data) if shape is DecideShape else data)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_input=False):
            _explain(shape, dict(item), tree, path, faults)
        return None


def _explain(shape: type[Shape], item: dict[str, Any], tree: Tree, path: Path, faults: Faults) -> None:
    """Adds one of pydantic's errors as a fault with a place."""
    inner: Path = item["loc"]
    full = (*path, *inner)
    name = next((str(part) for part in reversed(full) if isinstance(part, str)), "study")
    advice = _NEXT.get(f"{shape.__name__}.{name}") or _NEXT.get(name, "see the folder studies for examples")
    match item["type"]:
        case "extra_forbidden":
            known = _keys_of(shape, inner[:-1])
            close = nearest(name, known)
            advice = f"nearest: {close}" if close else f"known here: {', '.join(known)}"
            faults.add(tree.key(full), f"unknown key {shown(name)}", advice)
        case "missing":
            faults.add(tree.place(full[:-1]), f"{name} is missing", advice)
        case "value_error":
            faults.add_text(tree.place(full), f"{name}: {item['ctx']['error']}", advice)
        case "list_type":
            faults.add(tree.place(full), f"{name} must be a list", advice)
        case "literal_error":
            faults.add(tree.place(full), f"{name}: this is not known", advice)
        case _:
            faults.add(tree.place(full), f"{name} must hold key: value", advice)


def _keys_of(shape: type[BaseModel], path: Path) -> list[str]:
    """The keys that are known at a path inside a shape."""
    for part in path:
        field = shape.model_fields.get(str(part))
        shape = (_shape_in(field.annotation) if field else None) or shape
    return [entry.alias or name for name, entry in shape.model_fields.items()]


def _shape_in(annotation: Any) -> type[BaseModel] | None:
    """The shape that a field holds, directly or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((shape for part in get_args(annotation) if (shape := _shape_in(part))), None)
