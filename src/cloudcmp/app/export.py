"""Exports the values of a study as a tidy table."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cloudcmp import analysis
from cloudcmp.app.study_view import metrics_of, pseudonyms
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import OfferKey
from cloudcmp.model.metric import Reduce
from cloudcmp.model.plan import Plan
from cloudcmp.report.anonymity import Anonymity, of_plan
from cloudcmp.report.redaction import Pseudonyms
from cloudcmp.store import StudyStore, tidy
from cloudcmp.store.output_files import check_replaceable, is_stream
from cloudcmp.store.tidy import TidyColumns, TidyPlace
from cloudcmp.store.tidy_export import export_table
from cloudcmp.store.tidy_write import csv_parts, write_csv, write_parquet


def table_of(store: StudyStore, *, include_ids: bool = False, anonymise: bool = False) -> TidyColumns:
    """The tidy table of an open study; ids are pseudonyms unless `include_ids`, names are new with `anonymise`."""
    found = store.consistent(lambda: export_table(store, metrics_of(store), _percentiles(store)))
    if not include_ids:
        by = pseudonyms(store)
        found = replace(found, places=tuple(_hidden(place, by) for place in found.places))
    if anonymise:
        names = of_plan(store.plan)
        found = replace(found, places=tuple(_anonymous(place, names) for place in found.places))
    return found


def _table(folder: Path, *, include_ids: bool, anonymise: bool) -> TidyColumns:
    with StudyStore.open(folder, write=False) as store:
        return table_of(store, include_ids=include_ids, anonymise=anonymise)


def _hidden(place: TidyPlace, by: Pseudonyms) -> TidyPlace:
    """Return a launch with pseudonyms for ids, also within names, so that rows of one machine stay together."""
    attributes = {name: by.text(value) if isinstance(value, str) and not value.isdigit() else value
                  for name, value in place.attributes.items()}  # fmt: skip
    return replace(place, offering=by.text(place.offering), instance=by.text(place.instance), attributes=attributes)


def _anonymous(place: TidyPlace, names: Anonymity) -> TidyPlace:
    """Return a launch under new names, with the sizes and prices of its offering alone."""
    key = names.key(OfferKey(place.provider, place.region, place.offering))
    return replace(
        place,
        provider=key.provider,
        region=key.region,
        offering=key.name,
        attributes=names.attributes(place.attributes),
    )


def _percentiles(store: StudyStore) -> Mapping[tuple[int, str], float]:
    """The value of each launch in each percentile cell, from the sum of its histograms."""
    plan, metrics = store.plan, metrics_of(store)
    if plan.imported:
        return {}
    totals = frozenset(name for name, metric in metrics.items() if metric.reduce is Reduce.TOTAL)
    launches = _launch_index(plan)
    measured = store.measured(totals)
    return {
        (launches[one.candidate, session, round_], one.cell): value
        for one in analysis.estimate(plan, measured.values, measured.histograms, metrics)
        if "percentile=" in one.cell
        for value, round_, session in zip(one.values, one.rounds, one.sessions, strict=True)
    }


def _launch_index(plan: Plan) -> dict[tuple[int, str | None, int | None], int]:
    return {(launch.candidate, launch.session, launch.round): launch.index for launch in plan.launches}


def rows(folder: Path, *, include_ids: bool = False, anonymise: bool = False) -> list[dict[str, Any]]:
    """A study's values as records with the tidy table's columns; the options are those of `table_of`."""
    return list(_table(folder, include_ids=include_ids, anonymise=anonymise).records())


def export(
    folder: Path, out: Path | None, format_: str | None, *, include_ids: bool = False, anonymise: bool = False
) -> int:
    """Write a study's values as a tidy table, by default as CSV to standard output; returns the number of rows.

    `format_` is csv or parquet, by default the suffix of `out`. Ids are pseudonyms, unless `include_ids`;
    `anonymise` replaces the names of what was measured as well.

    Raises UserMistake for another format, Parquet without `out`, or if another file has its name.
    """
    if format_ is None:
        format_ = "parquet" if out is not None and out.suffix == ".parquet" else "csv"
    if format_ not in {"csv", "parquet"}:
        raise UserMistake.at("--format", f"unknown format {format_!r}", "use csv or parquet")
    if out is None and format_ == "parquet":
        raise UserMistake.at("--format", "parquet cannot be written to a terminal", "name a file with --out")
    streamed = out is not None and format_ == "csv" and is_stream(out)
    if out is not None and not streamed:
        check_replaceable(out, "tidy table", tidy.is_tidy)
    table = _table(folder, include_ids=include_ids, anonymise=anonymise)
    if out is None:
        sys.stdout.writelines(csv_parts(table))
    elif streamed:
        with out.open("a", encoding="utf-8", newline="") as stream:
            stream.writelines(csv_parts(table))
    elif format_ == "csv":
        write_csv(out, table)
    else:
        write_parquet(out, table)
    return len(table.value)
