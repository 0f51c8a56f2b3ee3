"""Recomputes the tables of published studies."""

from cloudcmp import published
from cloudcmp.analysis.published import Recomputation
from cloudcmp.analysis.published import recompute as recompute_document
from cloudcmp.catalog import hint
from cloudcmp.errors import UserMistake


def recompute(document: str | None) -> tuple[Recomputation, ...]:
    """Recompute one document, or all; raises UserMistake for an unknown one, naming the nearest."""
    known = published.documents()
    if document is not None and document not in known:
        raise UserMistake.at("document", f"unknown document {document!r}", hint(document, known, "cloudcmp published"))
    return tuple(recompute_document(published.load(name)) for name in known if document in {None, name})
