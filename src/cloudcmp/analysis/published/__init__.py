"""Recomputes published tables with the project's own statistics, and lists figures that do not follow from them.

`recompute` takes a document of `cloudcmp.published` and walks its relations (the stated origins of its figures) and its
claims (the sentences about them). A figure follows or not by its printed rounding and that of its inputs alone.
"""

from cloudcmp.analysis.published.catalogues import NO_CURRENCY, price_lists
from cloudcmp.analysis.published.claims import check_claim
from cloudcmp.analysis.published.relations import KINDS, repeated_columns
from cloudcmp.analysis.published.session_evidence import SessionEvidence, session_evidence
from cloudcmp.analysis.published.verdict import Check, ClaimCheck, Recomputation, Verdict
from cloudcmp.published import Document


def recompute(document: Document) -> Recomputation:
    """Every derived figure and every checkable sentence of a document, with its verdict.

    Checks come in the order of the tables. A figure with unprinted inputs is listed as such.
    Does not explain why a figure does not follow: a typing error and a computing error look the same.
    """
    checks = [check for relation in document.relations for check in KINDS[relation.kind](document, relation)]
    place = {table.number: at for at, table in enumerate(document.tables)}
    checks.sort(key=lambda check: place[check.table.partition(",")[0]])
    copies = {
        (repeat.table.number, repeat.column)
        for relation in document.relations
        if relation.kind == "distinct"
        for repeat in repeated_columns(document, relation)
    }
    claims = tuple(check_claim(document, claim, copies) for claim in document.claims)
    return Recomputation(document.name, tuple(checks), claims, document.uncovered)
