"""A market as the machines of a fleet see it: what may replace a machine, cheapest first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cloudcmp.answer.choice.attributes import BURSTABLE
from cloudcmp.answer.choice.chances import NEAR, standard_errors
from cloudcmp.answer.choice.lookup import column_of, numbers_of
from cloudcmp.answer.choice.needs import Need, bound_need, met
from cloudcmp.catalog.accelerators import has_accelerator
from cloudcmp.catalog.architecture import architecture_of, same_architecture
from cloudcmp.catalog.public_tables import PUBLIC_COLUMNS
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import COST, Market, Numbers, OfferKey, Texts
from cloudcmp.model.metric import Better

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

ANY = "any"
"""The architecture of a machine for which it does not matter."""
DEFAULT_METRIC = "stressng_best_n"
_ARCHITECTURES = ("architecture", "arch", "cpu_architecture")
_FACT = "vcpus"
_METAL = "metal"
_ACCELERATORS = "gpu_count"
_KEPT_FACTS = ("storage_gb",)
"""Of these a machine keeps at least as much as it has, where a source knows them."""


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """What is asked about a fleet.

    `metric` is the column of the work that a machine does in a time, of which more is better; `on` are columns in which
    nothing may become worse. `headroom` is the share that is added to what is in use. `architecture`, `provider` and
    `region` are true if they may change. `require` are needs of every new offering.
    """

    metric: str | None = None
    on: tuple[str, ...] = ()
    headroom: float = 0.3
    architecture: bool = False
    provider: bool = False
    region: bool = False
    require: tuple[Need, ...] = ()
    confidence: float = 0.95
    spread: float | None = None
    allow_burstable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Offerings that may replace machines of one place and architecture: rows of the market, cheapest first."""

    rows: Rows
    cost: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A market with the columns that decide, by its rows.

    `metrics` are the work and then what must not become worse; `logs` and `errors` are the logarithms of their values
    and the relative standard errors, one row for each metric; `errors` is NaN for single values of unknown spread.
    `facts` are those of which a machine keeps at least as much as it has; `renamed` counts the types whose name
    contradicts a source. `bare` marks machines without a hypervisor, which only replace each other. `accelerated` ones
    cannot be judged. `may` marks what may be chosen at all.
    """

    market: Market
    question: FleetQuestion
    metrics: tuple[Numbers, ...]
    logs: Floats
    errors: Floats
    cost: Floats
    memory: Floats
    facts: tuple[Floats, ...]
    architecture: tuple[str, ...]
    bare: NDArray[np.bool_]
    accelerated: NDArray[np.bool_]
    renamed: int
    may: NDArray[np.bool_]
    by_type: Mapping[tuple[str, str], tuple[int, ...]]
    pools: dict[tuple[str, str, str, bool], Pool] = field(default_factory=dict)

    def row_of(self, key: OfferKey) -> int | None:
        """The row of an offering: in its region, else where the market names none, or the only one; None without."""
        rows = self.by_type.get((key.provider, key.name.casefold()), ())
        regions = {self.market.keys[row].region: row for row in rows}
        if key.region:
            return regions.get(key.region, regions.get(""))
        return rows[0] if len(rows) == 1 else regions.get("")

    def architecture_for(self, row: int, wanted: str) -> str:
        """The architecture that replaces a machine of a row: the wanted one, `any`, or its own; empty if unknown."""
        if wanted:
            return wanted
        return ANY if self.question.architecture else self.architecture[row]

    def pool(self, row: int, architecture: str) -> Pool:
        """What may replace a machine of a row with an architecture, or `any`."""
        key = self.market.keys[row]
        place = ("" if self.question.provider else key.provider, "" if self.question.region else key.region)
        kind = (*place, architecture, bool(self.bare[row]))
        found = self.pools.get(kind)
        if found is None:
            found = self.pools[kind] = self._pool(*kind)
        return found

    def _pool(self, provider: str, region: str, architecture: str, is_bare: bool) -> Pool:
        keys = self.market.keys
        rows = [
            row for row in np.flatnonzero(self.may).tolist()
            if (not provider or keys[row].provider == provider) and (not region or keys[row].region == region)
            and architecture in {ANY, self.architecture[row]} and self.bare[row] == is_bare
        ]  # fmt: skip
        rows.sort(key=lambda row: (self.cost[row], keys[row]))
        if not region:
            rows = list(self._cheapest(rows))
        at = np.array(rows, np.int64)
        return Pool(at, self.cost[at])

    def _cheapest(self, rows: Sequence[int]) -> Iterator[int]:
        """The first row of each type that shares its measurements."""
        seen: set[tuple[object, ...]] = set()
        for row in rows:
            key = self.market.keys[row]
            kind = (key.provider, key.name, *(row if one.origin is None else int(one.origin[row])
                                              for one in self.metrics))  # fmt: skip
            if kind not in seen:
                seen.add(kind)
                yield row


def space_of(market: Market, question: FleetQuestion) -> Space:
    """Return what a question sees of a market, which has the columns of `with_attributes`.

    Raises UserMistake for a name that no column has, for a metric of which less is better, and without any price.
    """
    metrics = tuple(_metrics(market, question))
    cost = numbers_of(market, COST, "--fleet").value
    values = np.array([one.value for one in metrics])
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.where(values > 0, np.log(np.where(values > 0, values, 1.0)), np.nan)
    memory = _numbers(market, "memory_gib")
    facts = tuple(_numbers(market, one) for one in _KEPT_FACTS if isinstance(market.columns.get(one), Numbers))
    architecture, renamed = _architecture(market)
    may = (cost > 0) & np.isfinite(logs).all(axis=0) & np.isfinite(memory)
    if not question.allow_burstable:
        burst = market.columns[BURSTABLE]
        may &= np.array([word != "yes" for word in (burst.value if isinstance(burst, Texts) else ())], np.bool_)
    for need in question.require:
        may &= met(bound_need(need, market), market).yes
    by_type: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(market.keys):
        by_type.setdefault((key.provider, key.name.casefold()), []).append(row)
    return Space(
        market, question, metrics, logs, np.array([standard_errors(one, question.spread) for one in metrics]), cost,
        memory, facts, architecture, np.array([_METAL in key.name for key in market.keys], np.bool_),
        _accelerated(market), renamed, may, {kind: tuple(rows) for kind, rows in by_type.items()},
    )  # fmt: skip


def _metrics(market: Market, question: FleetQuestion) -> Iterator[Numbers]:
    if question.metric is None and DEFAULT_METRIC not in market.columns:
        what = f"no source has the column {DEFAULT_METRIC}"
        raise UserMistake.at("--metric", what, "name the column of the work that a machine does; --columns lists all")
    yield _more_is_better(numbers_of(market, question.metric or DEFAULT_METRIC, "--metric"), "--metric")
    for one in question.on:
        yield _more_is_better(numbers_of(market, one, "--on"), "--on")


def _more_is_better(column: Numbers, where: str) -> Numbers:
    """The column as a measurement, also if its source gives no day of it; the number of processors is a fact."""
    known = PUBLIC_COLUMNS.get(column.name)
    if (column.better or (known.better if known else None)) is Better.LOWER:
        raise UserMistake.at(where, f"less of {column.name!r} is better", "name a rate of work")
    return column if column.name == _FACT else replace(column, is_measured=True)


def _numbers(market: Market, name: str) -> Floats:
    column = market.columns.get(name)
    return column.value if isinstance(column, Numbers) else np.full(len(market.keys), np.nan)


def _architecture(market: Market) -> tuple[tuple[str, ...], int]:
    """The architecture of each offering, and how many types have another one by their name than by a source.

    The name counts. The table of Spare Cores calls the ARM types c4a and n4a of Google x86_64.
    """
    named = next((one for one in _ARCHITECTURES if one in market.columns), None)
    column = column_of(market, named, "--fleet") if named else None
    words = column.value if isinstance(column, Texts) else ("",) * len(market.keys)
    by_name = [architecture_of(key.provider, key.name) for key in market.keys]
    by_source = [same_architecture(word) for word in words]
    both = zip(market.keys, by_name, by_source, strict=True)
    differ = {(key.provider, key.name) for key, a, b in both if a and b and a != b}
    return tuple(a or b for a, b in zip(by_name, by_source, strict=True)), len(differ)


def _accelerated(market: Market) -> NDArray[np.bool_]:
    """What has accelerators, by a source or by its name."""
    named = np.array([has_accelerator(key.provider, key.name) for key in market.keys], np.bool_)
    return np.asarray(named | (_numbers(market, _ACCELERATORS) > 0))


AS_TODAY = 1 - NEAR
"""The share of its own measurement that a machine of unknown use needs: 3 % less is practically the same."""
