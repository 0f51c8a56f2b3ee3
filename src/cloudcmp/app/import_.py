"""Imports values that other tools measured, as a study."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path

from cloudcmp import __version__
from cloudcmp.analysis import name_warnings
from cloudcmp.app.study_folder import new_folder, remember_folder
from cloudcmp.app.tool_files import ImportOptions, NamedFile, is_table, parse_file, read_files
from cloudcmp.catalog import METRICS
from cloudcmp.store.bundle import checked_table, is_bundle, question_of
from cloudcmp.store.tidy_agree import TidyTable
from cloudcmp.store.tidy_check import check_table, read_tidy
from cloudcmp.store.tidy_import import import_table
from cloudcmp.store.tidy_read import table_of


@dataclass(frozen=True, slots=True)
class ImportedStudy:
    """A study of imported values: its folder, the number of values, and notes on what is unknown or was not read."""

    folder: Path
    values: int
    notes: tuple[str, ...]


def import_files(files: Sequence[str], out: Path | None, name: str | None, options: ImportOptions) -> ImportedStudy:
    """Make a study's folder of a tidy table, or of files that other tools wrote, `FILE` or `OFFERING=FILE` each.

    A folder that `export --bundle` wrote is read as its table, after its files were compared with their digests.

    Raises UserMistake with every fault of the files, each with its place, and CorruptStore for a changed bundle.
    """
    given, question = [parse_file(text) for text in files], None
    if len(given) == 1 and is_bundle(given[0].path):
        name, bundle = name or given[0].path.resolve().name, given[0].path
        given = [NamedFile(checked_table(bundle), None)]
        question = question_of(bundle)
    if is_table(given, options):
        table, notes = read_tidy(given[0].path, METRICS, options.better), []
    else:
        found = read_files(given, options)
        path = _stem(given[0].path)
        table, notes = check_table(path, table_of(*found.table()), METRICS), found.notes
    notes = [*notes, *_directions(table, options)]
    if name is not None:
        table = replace(table, path=table.path.with_name(f"{name}{table.path.suffix}"))
    folder = new_folder(table.path.stem, out)
    origin = {"cloudcmp": __version__, "imported from": ", ".join(one.path.name for one in given[:20])}
    for count, one in enumerate(given):
        origin["sha256" if not count else f"sha256 of {one.path}"] = _digest(one.path)
    with import_table(
        table, folder, provenance=origin, created_at=time.time(), question=question, blocks_allowed=options.allow_blocks
    ) as store:
        lines = (*store.plan.quote.notes, *name_warnings(store.plan), *notes, *filter(None, [remember_folder(folder)]))
        return ImportedStudy(folder, len(table.rows), lines)


def _directions(table: TidyTable, options: ImportOptions) -> list[str]:
    """A note on the metrics that `--better` was used for, or that it was not needed."""
    if options.better is None:
        return []
    if not table.assumed:
        return [f"--better {options.better} was not needed: the direction of every metric is known"]
    return [f"{options.better} counts as better, as --better says: {', '.join(table.assumed)}"]


def _stem(path: Path) -> Path:
    """A file's name without `.gz`, so that the study is named after the content."""
    return path.with_suffix("") if path.suffix == ".gz" else path


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
