"""Deval 2017, and what is recomputed of any document, once for all tests that read it, and only when one runs."""

from functools import cache

from cloudcmp.analysis.published import Recomputation, recompute
from cloudcmp.published import Document, load


@cache
def deval() -> Document:
    """The tables of the dissertation."""
    return load("deval-2017")


@cache
def recomputed(name: str) -> Recomputation:
    """Every figure and sentence of a document, recomputed."""
    return recompute(load(name))


def result() -> Recomputation:
    """Those of the dissertation."""
    return recomputed("deval-2017")
