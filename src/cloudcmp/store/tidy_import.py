"""Imports a user's table as a study of its own, which is analysed like a measured one."""

import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.model.offering import DOUBTFUL_PRICE, REPEATED, Offering, Price, Volume, is_doubtful_price
from cloudcmp.model.plan import Candidate, Launch, Plan, Quote
from cloudcmp.store.creation import lay_out
from cloudcmp.store.faults import storage
from cloudcmp.store.files import sha256_of, write_durably
from cloudcmp.store.imported_table import METRICS_KEY, metrics_text, write
from cloudcmp.store.plan_rows import Origin, digest_key
from cloudcmp.store.samples import IMPORTED_FILE
from cloudcmp.store.study_store import StudyStore
from cloudcmp.store.tidy_agree import PRICE, Key, TidyChunk, TidyRows, TidyTable
from cloudcmp.store.tidy_columns import first_of_equal, groups
from cloudcmp.store.tidy_export import BLOCKS_ALLOWED, NO_ROUNDS, NO_TIMES, REPLICATION_UNKNOWN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# From this share of repeated rows on, a table was probably written twice.
_LEAST_REPEATED = 0.2
_FEW_DIGITS = 4
_FIELDS = {"vcpus", "memory_gib", "category", "volume", "count", "runner"}


def import_table(
    table: TidyTable, folder: Path, *, provenance: Mapping[str, str], created_at: float, question: str | None = None,
    blocks_allowed: bool = False,
) -> StudyStore:  # fmt: skip
    """Creates a study's folder from a table that was read with `read_tidy`; `created_at` in Unix seconds.

    Without a `question`, it is what the table says.

    Without `instance` each row is a launch of its own, and without `round` every launch is in round 0; the notes
    `replication_unknown` and `no_rounds` record this, `no_times` that the time of a row is unknown, and
    `blocks_allowed` that sides measured at different times may get a verdict. Raises UserMistake if the folder is not
    empty.
    """
    keys = list(table.rows.keys)
    repeated = {at: {REPEATED: text} for at, text in _repeated(table.rows).items()}
    start_at = min((_earliest(chunk) for chunk in table.rows.chunks), default=math.inf)
    start_at = start_at if math.isfinite(start_at) else 0.0
    launches, places = _launches(table.rows, start_at)
    plan = Plan(
        name=table.path.stem,
        question=question or f"What does the table {table.path.name} say?",
        candidates=tuple(
            _candidate(i, key, keys, {**own, **_doubtful(own), **repeated.get(i, {})})
            for i, key in enumerate(keys)
            for own in (table.attributes.get(key, {}),)
        ),
        launches=launches,
        trials=(),
        decide=(),
        sessions=(),
        rounds=len({launch.round for launch in launches}),
        runs=1,
        seed=0,
        start_at=start_at,
        quote=Quote(len(table.rows), 0.0, None, None, (), 0.0),
        imported=True,
    )
    notes = {METRICS_KEY: metrics_text(table.metrics)}
    notes |= {} if table.has_rounds else {NO_ROUNDS: "the table has no rounds"}
    notes |= {} if not table.rows.launches.timeless else {NO_TIMES: "a row has no time"}
    notes |= {BLOCKS_ALLOWED: "the user allowed blocks"} if blocks_allowed else {}
    notes |= {} if table.has_instances else {REPLICATION_UNKNOWN: "the table does not say which rows share a launch"}

    def fill(samples: Path) -> Mapping[str, str]:
        path = samples / IMPORTED_FILE
        write_durably(path, lambda file: write(table.rows, places, file))
        with storage(path):
            return {**notes, digest_key(IMPORTED_FILE): sha256_of(path)}

    seals = lay_out(folder, plan, Origin("", dict(provenance), created_at), fill)
    return StudyStore.open(folder, write=True, seals=seals)


def _repeated(rows: TidyRows) -> dict[int, str]:
    """For each offering with rows that repeat an earlier one in all columns, their number, as `8 of 16`.

    Rows with a value of few digits are not counted: a coarse clock repeats itself.
    """
    import numpy as np

    if not rows.chunks:
        return {}
    launch, cell, value, time = (
        np.concatenate([getattr(chunk, name) for chunk in rows.chunks]) for name in ("launch", "cell", "value", "time")
    )
    of = rows.launches
    rounds = np.array([-1 if one is None else one for one in of.rounds], np.int64)
    kinds, owner = groups([of.key, of.instance, rounds[of.round] + 1, of.session])
    columns = (kinds[launch], cell, value, np.nan_to_num(time, nan=-1.0))
    chosen = np.flatnonzero(_precise(value))
    first = first_of_equal([column[chosen] for column in columns])
    key = of.key[owner][columns[0][chosen]]
    extra = np.bincount(key[first != np.arange(len(first))], minlength=len(rows.keys))
    counted = np.bincount(key, minlength=len(rows.keys))
    return {
        at: f"{extra[at]} of {counted[at]}"
        for at in range(len(rows.keys))
        if extra[at] >= _LEAST_REPEATED * counted[at] > 0
    }


def _precise(value: "NDArray[np.float64]") -> "NDArray[np.bool_]":
    """True for values of so many digits that two equal ones are hardly by chance: no number of four digits is one."""
    import numpy as np

    known = np.where(np.isfinite(value) & (value != 0.0), np.abs(value), 1.0)
    scaled = known / 10.0 ** (np.floor(np.log10(known)) - (_FEW_DIGITS - 1))
    return np.abs(scaled - np.rint(scaled)) > 1e-6


def _earliest(chunk: TidyChunk) -> float:
    """The earliest time of some rows, infinite if none has one."""
    import numpy as np

    known = chunk.time[~np.isnan(chunk.time)]
    return float(known.min(initial=np.inf))


def _launches(rows: TidyRows, start_at: float) -> "tuple[tuple[Launch, ...], NDArray[np.int32]]":
    """The launches by session, round and time, else in the order of their first rows; and the new index of each."""
    import numpy as np

    launches = [
        Launch(at, one.key, one.round or 0, one.session or None, 0.0 if one.time is None else one.time - start_at, 0)
        for at, one in enumerate(rows.launches)
    ]
    ordered = sorted(launches, key=lambda one: (one.session or "", one.round, one.start_s, one.index))
    places = np.zeros(len(launches), np.int32)
    places[[one.index for one in ordered]] = np.arange(len(launches), dtype=np.int32)
    return tuple(replace(one, index=at) for at, one in enumerate(ordered)), places


def _candidate(index: int, key: Key, keys: list[Key], attributes: Mapping[str, str]) -> Candidate:
    provider, region, name = key
    number = {field: float(attributes[field]) for field in ("vcpus", "memory_gib") if field in attributes}
    price = next((_price(column, text) for column, text in attributes.items() if PRICE.fullmatch(column)), None)
    others = tuple(
        sorted(
            (column, text)
            for column, text in attributes.items()
            if column not in _FIELDS and not PRICE.fullmatch(column)
        )
    )
    offering = Offering(
        provider, region, name, number.get("vcpus"), number.get("memory_gib"), attributes.get("category"), price, others
    )
    return Candidate(
        index,
        _id(key, keys),
        offering,
        attributes.get("runner", provider),
        Volume(attributes["volume"]) if attributes.get("volume") else None,
        int(float(attributes.get("count", "1"))),
    )


def _price(column: str, text: str) -> Price | None:
    """The price in a column; None (unknown) for zero, because nothing is free, and for one that no cloud has."""
    amount, currency = Decimal(text), column.split("_")[1].upper()
    return None if not amount or is_doubtful_price(amount, currency) else Price(amount, currency, "imported")


def _doubtful(attributes: Mapping[str, str]) -> dict[str, str]:
    """The price of an offering that no cloud has, as an attribute."""
    for column, text in attributes.items():
        if PRICE.fullmatch(column) and Decimal(text) and _price(column, text) is None:
            return {DOUBTFUL_PRICE: f"{text} {column.split('_')[1].upper()}/h"}
    return {}


def _id(key: Key, keys: list[Key]) -> str:
    """The shortest of name, provider/name and provider/region/name that no other candidate has."""
    provider, region, name = key
    if sum(other[2] == name for other in keys) == 1:
        return name
    if sum((other[0], other[2]) == (provider, name) for other in keys) == 1:
        return f"{provider}/{name}"
    return f"{provider}/{region}/{name}"
