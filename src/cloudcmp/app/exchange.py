"""Tidy tables, in and out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

from cloudcmp import __version__, analysis
from cloudcmp.app import tool_files as foreign
from cloudcmp.app.run import STUDIES
from cloudcmp.app.study_view import metrics_of, pseudonyms
from cloudcmp.catalog import METRICS
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import Reduce
from cloudcmp.model.plan import Plan
from cloudcmp.report.redaction import Pseudonyms
from cloudcmp.store import StudyStore, tidy
from cloudcmp.store.output_files import check_replaceable, is_stream
from cloudcmp.store.tidy import TidyColumns, TidyPlace
from cloudcmp.store.tidy_check import check_table, read_tidy
from cloudcmp.store.tidy_export import export_table
from cloudcmp.store.tidy_import import import_table as import_folder
from cloudcmp.store.tidy_read import table_of
from cloudcmp.store.tidy_write import csv_parts, write_csv, write_parquet


def _table(folder: Path, *, include_ids: bool) -> TidyColumns:
    with StudyStore.open(folder, write=False) as store:
        found = store.consistent(lambda: export_table(store, metrics_of(store), _percentiles(store)))
        if include_ids:
            return found
        by = pseudonyms(store)
        return replace(found, places=tuple(_hidden(place, by) for place in found.places))


def _hidden(place: TidyPlace, by: Pseudonyms) -> TidyPlace:
    """A launch without ids; a name that holds one has its pseudonym, so that rows of one thing stay together."""
    told = {name: by.text(said) if isinstance(said, str) and not said.isdigit() else said
            for name, said in place.attributes.items()}  # fmt: skip
    return replace(place, offering=by.text(place.offering), instance=by.text(place.instance), attributes=told)


def _percentiles(store: StudyStore) -> Mapping[tuple[int, str], float]:
    """The value of each launch in each percentile cell, from the launch's histograms added together."""
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


def rows(folder: Path, *, include_ids: bool = False) -> list[dict[str, Any]]:
    """A study's values as records with the tidy table's columns; ids are pseudonyms, unless `include_ids`."""
    return list(_table(folder, include_ids=include_ids).records())


def export(folder: Path, out: Path | None, format_: str | None, *, include_ids: bool = False) -> int:
    """Write a study's values as a tidy table, CSV or Parquet, without `out` as CSV to standard output; the row count.

    Without `format_` the ending of `out` tells it. Ids are pseudonyms, unless `include_ids`.

    Raises UserMistake for another format, Parquet without a file to write, or where another file is there.
    """
    if format_ is None:
        format_ = "parquet" if out is not None and out.suffix == ".parquet" else "csv"
    if format_ not in {"csv", "parquet"}:
        raise UserMistake.at("--format", f"unknown format {format_!r}", "use csv or parquet")
    if out is None and format_ == "parquet":
        raise UserMistake.at("--format", "parquet is not for a terminal", "name a file with --out")
    streamed = out is not None and format_ == "csv" and is_stream(out)
    if out is not None and not streamed:
        check_replaceable(out, "tidy table", tidy.is_tidy)
    found = _table(folder, include_ids=include_ids)
    if out is None:
        import sys

        sys.stdout.writelines(csv_parts(found))
    elif streamed:
        with out.open("a", encoding="utf-8", newline="") as stream:
            stream.writelines(csv_parts(found))
    elif format_ == "csv":
        write_csv(out, found)
    else:
        write_parquet(out, found)
    return len(found.value)


def import_files(
    files: Sequence[str], out: Path | None, name: str | None, asked: foreign.Asked
) -> tuple[Path, int, tuple[str, ...]]:
    """Make a study's folder of a tidy table, or of files that other tools wrote, `FILE` or `OFFERING=FILE` each.

    Returns the folder, how many values, and what is left unknown or was not read. Raises UserMistake with every fault
    of the files, each with its place.
    """
    given = [foreign.named(text) for text in files]
    if foreign.is_table(given, asked):
        read, told = read_tidy(given[0].path, METRICS), []
    else:
        found = foreign.read(given, asked)
        path = _stem(given[0].path)
        read, told = check_table(path, table_of(foreign.COLUMNS, found.rows), METRICS), found.told
    if name is not None:
        read = replace(read, path=read.path.with_name(f"{name}{read.path.suffix}"))
    folder = out or _free_folder(read.path.stem)
    origin = {"cloudcmp": __version__, "imported from": ", ".join(one.path.name for one in given[:20])}
    for count, one in enumerate(given):
        origin["sha256" if not count else f"sha256 of {one.path}"] = _digest(one.path)
    with import_folder(read, folder, provenance=origin, created_at=time.time()) as store:
        return folder, len(read.rows), (*store.plan.quote.notes, *told)


def _stem(path: Path) -> Path:
    """A file's name without the endings of what it is packed in, so that a study is called after what it holds."""
    return path.with_suffix("") if path.suffix == ".gz" else path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _free_folder(stem: str) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (f"{stem}-{stamp}", *(f"{stem}-{stamp}-{count}" for count in range(2, 1000)))
    return next(STUDIES / each for each in names if not (STUDIES / each).exists())
