"""Writes a study as a bundle: one folder to publish and cite, which `import` reads again."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudcmp import __version__
from cloudcmp.app.export import table_of
from cloudcmp.app.study_view import pseudonyms, view
from cloudcmp.model.codec import to_json
from cloudcmp.model.plan import Plan
from cloudcmp.model.view import View
from cloudcmp.report.citation import Citation, methods, package
from cloudcmp.store import StudyStore
from cloudcmp.store.bundle import PACKAGE, PLAN, TABLE, check_new, resource_of, write_file
from cloudcmp.store.plan_rows import prices_of
from cloudcmp.store.tidy import COLUMNS, TidyColumns
from cloudcmp.store.tidy_write import write_parquet

_NUMBERS = frozenset({"value", "vcpus", "memory_gib"})


@dataclass(frozen=True, slots=True)
class Bundle:
    """A written bundle: the names of its files in order, the number of values, and what its author must know."""

    files: tuple[str, ...]
    rows: int
    notes: tuple[str, ...]


def export_bundle(
    folder: Path, out: Path, authors: Sequence[str] = (), *, include_ids: bool = False, anonymise: bool = False
) -> Bundle:  # fmt: skip
    """Write a study's bundle into a new folder; the same study gives the same bytes.

    Ids are pseudonyms, unless `include_ids`. With `anonymise` names are replaced, and the study file, which may name
    anything, is left out. `datapackage.json` is written last: a folder without it is incomplete.

    Raises UserMistake if `out` is there already, and as `view` does.
    """
    check_new(out)
    shown = view(folder, drawn=False, include_ids=include_ids, anonymise=anonymise)
    with StudyStore.open(folder, write=False) as store:
        table = table_of(store, include_ids=include_ids, anonymise=anonymise)
        study = store.study_text if include_ids else pseudonyms(store).text(store.study_text)
        made_at = store.created_at
    citation = _citation(shown, authors, made_at)
    texts = {
        "study.yaml": "" if anonymise else study,
        PLAN: _indented(to_json(shown.plan)),
        "prices.csv": _prices(shown.plan),
        "provenance.json": _indented(json.dumps(dict(shown.provenance))),
        "METHODS.md": methods(shown, citation, len(table.value)),
        "CITATION.cff": citation.cff(),
        "citation.bib": citation.bibtex(),
    }
    kept = {name: text for name, text in texts.items() if text}
    for name, text in kept.items():
        write_file(out, name, text.encode())
    write_parquet(out / TABLE, table)
    files = (TABLE, *kept)
    described = [resource_of(out, name) for name in files]
    write_file(out, PACKAGE, package(_slug(shown.plan.name), citation, described, _fields(table), TABLE).encode())
    return Bundle((*files, PACKAGE), len(table.value), tuple(_notes(authors, anonymise=anonymise)))


def _citation(shown: View, authors: Sequence[str], made_at: float) -> Citation:
    plan = shown.plan
    simulated = any(one.simulated for one in plan.candidates)
    version = dict(shown.provenance).get("cloudcmp", __version__)
    return Citation(f"{plan.name}: {plan.question}", tuple(authors), None if simulated else made_at, version, simulated)


def _notes(authors: Sequence[str], *, anonymise: bool) -> list[str]:
    notes = [] if authors else ["no author is named: --author 'FAMILY, GIVEN' names one in CITATION.cff"]
    if anonymise:
        notes.append("names are replaced; prices and sizes stay, and may tell a reader what was measured")
    return notes


def _prices(plan: Plan) -> str:
    """The price snapshot as CSV; without a known price, the header alone."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("provider", "region", "offering", "amount_per_hour", "currency", "source", "as_of"))
    for item, price in dict(prices_of(plan)).items():
        writer.writerow((*item, price.amount_per_hour, price.currency, price.source, price.as_of or ""))
    return text.getvalue()


def _fields(table: TidyColumns) -> list[dict[str, str]]:
    """The columns of the table with their types."""
    kinds = {"time": "datetime", "round": "integer", **dict.fromkeys(_NUMBERS, "number")}
    return [{"name": name, "type": "number" if name.startswith("price_") else kinds.get(name, "string")}
            for name in (*COLUMNS, *table.attribute_names())]  # fmt: skip


def _indented(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"


def _slug(name: str) -> str:
    """A name for a package: lower case letters, digits, dots and hyphens."""
    letters = (one if one.isascii() and (one.isalnum() or one in ".-") else "-" for one in name.casefold())
    return "".join(letters).strip("-.") or "study"
