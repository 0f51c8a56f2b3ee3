"""A table from people as a study of its own, which is analysed like one that was measured."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from cloudcmp.model.offering import Offering, Price, Volume
from cloudcmp.model.plan import Candidate, Launch, Plan, Quote
from cloudcmp.store.creation import lay_out
from cloudcmp.store.files import write_durably
from cloudcmp.store.imported import METRICS_KEY, ImportedRow, encode, metrics_text
from cloudcmp.store.planned import Origin, digest_key
from cloudcmp.store.samples import IMPORTED_FILE
from cloudcmp.store.study_store import StudyStore
from cloudcmp.store.tidy_agree import PRICE, Key, TidyTable
from cloudcmp.store.tidy_export import NO_ROUNDS, REPLICATION_UNKNOWN

_FIELDS = {"vcpus", "memory_gib", "category", "volume", "count", "runner"}


def import_table(table: TidyTable, folder: Path, *, provenance: Mapping[str, str], created_at: float) -> StudyStore:
    """Make a study's folder of a table that was read with `read_tidy`; `created_at` in Unix seconds.

    Without `instance` each row is a launch of its own, and without `round` every launch is in round 0; the notes
    `replication_unknown` and `no_rounds` say so. Raises UserMistake where the folder is not empty.
    """
    keys = list(dict.fromkeys(row.key for row in table.rows))
    start_at = min((row.time for row in table.rows if row.time is not None), default=0.0)
    launches, launch_of = _launches(table, {key: i for i, key in enumerate(keys)}, start_at)
    plan = Plan(
        name=table.path.stem,
        question=f"What does the table {table.path.name} say?",
        candidates=tuple(_candidate(i, key, keys, table.attributes.get(key, {})) for i, key in enumerate(keys)),
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
    notes |= {} if table.has_instances else {REPLICATION_UNKNOWN: "the table does not say which rows share a launch"}
    content = encode(
        [
            ImportedRow(launch, row.cell, row.value, row.outcome, row.time)
            for launch, row in zip(launch_of, table.rows, strict=True)
        ]
    )

    def fill(samples: Path) -> Mapping[str, str]:
        write_durably(samples / IMPORTED_FILE, content)
        return {**notes, digest_key(IMPORTED_FILE): hashlib.sha256(content).hexdigest()}

    lay_out(folder, plan, Origin("", dict(provenance), created_at), fill)
    return StudyStore.open(folder, write=True)


def _launches(table: TidyTable, candidates: Mapping[Key, int], start_at: float) -> tuple[tuple[Launch, ...], list[int]]:
    """The launches by session, round and time, else in the order of their first rows; and each row's launch."""
    index: dict[tuple[Key, str], int] = {}
    met: list[Launch] = []
    met_of: list[int] = []
    for number, row in enumerate(table.rows):
        found = index.setdefault((row.key, row.instance or f"row {number}"), len(met))
        if found == len(met):
            start_s = 0.0 if row.time is None else row.time - start_at
            met.append(Launch(found, candidates[row.key], row.round or 0, row.session or None, start_s, 0))
        met_of.append(found)
    ordered = sorted(met, key=lambda one: (one.session or "", one.round, one.start_s, one.index))
    place = {one.index: at for at, one in enumerate(ordered)}
    return tuple(replace(one, index=place[one.index]) for one in ordered), [place[found] for found in met_of]


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
    """The price in a column, None for zero: nothing is free, so it is unknown."""
    amount = Decimal(text)
    return Price(amount, column.split("_")[1].upper(), "imported") if amount else None


def _id(key: Key, keys: list[Key]) -> str:
    """The shortest of name, provider/name and provider/region/name that no other candidate has."""
    provider, region, name = key
    if sum(other[2] == name for other in keys) == 1:
        return name
    if sum((other[0], other[2]) == (provider, name) for other in keys) == 1:
        return f"{provider}/{name}"
    return f"{provider}/{region}/{name}"
