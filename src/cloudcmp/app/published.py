"""Recomputes the tables of published studies, and weighs what their sessions can show."""

import csv
from pathlib import Path

from cloudcmp import published
from cloudcmp.analysis.published import Recomputation, SessionEvidence, session_evidence
from cloudcmp.analysis.published import recompute as recompute_document
from cloudcmp.catalog import hint
from cloudcmp.errors import UserMistake
from cloudcmp.store.faults import storage
from cloudcmp.store.output_files import check_replaceable

_HEAD = ("offering", "metric", "unit", "better", "value")


def recompute(document: str | None) -> tuple[Recomputation, ...]:
    """Recompute one document, or all; raises UserMistake for an unknown one, naming the nearest."""
    names = published.documents() if document is None else (_known(document),)
    return tuple(recompute_document(published.load(name)) for name in names)


def sessions(document: str | None) -> SessionEvidence:
    """What the session values of a document can show; raises UserMistake if it prints none, naming those that do."""
    found = None if document is None else session_evidence(published.load(_known(document)))
    if found is None:
        what = "name a document that prints sessions" if document is None else f"{document} prints no sessions"
        raise UserMistake.at("document", what, f"there are: {', '.join(_with_sessions())}")
    return found


def write_sessions(evidence: SessionEvidence, path: Path) -> int:
    """Write the session values as a table that `import` reads; returns the number of values.

    Raises UserMistake if something other than such a table is there already. A value has no round and no instance,
    because the document does not say which of them belong together.
    """
    check_replaceable(path, "table of this kind", lambda head: head.startswith(",".join(_HEAD).encode()))
    rows = [
        (one.platform, f"table_{one.table}", one.unit, evidence.better, value)
        for one in evidence.values
        for value in one.values
    ]
    with storage(path), path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_HEAD, *rows])
    return len(rows)


def _known(document: str) -> str:
    known = published.documents()
    if document not in known:
        raise UserMistake.at("document", f"unknown document {document!r}", hint(document, known, "cloudcmp published"))
    return document


def _with_sessions() -> tuple[str, ...]:
    return tuple(name for name in published.documents() if session_evidence(published.load(name)) is not None)
