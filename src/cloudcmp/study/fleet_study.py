"""The text of a study that measures offerings of a fleet against those that may replace them."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cloudcmp.catalog import METRICS, PROBES
from cloudcmp.catalog.public_tables import PUBLIC_COLUMNS
from cloudcmp.errors import UserMistake
from cloudcmp.model.cell import Cell
from cloudcmp.model.market import OfferKey
from cloudcmp.units import Money

_TIMES = 4
"""The budget against the expected price: a budget holds the worst case of every launch."""


@dataclass(frozen=True, slots=True)
class Offered:
    """An offering to measure; its `price` an hour is not written if it is not above zero."""

    key: OfferKey
    price: float


def study_text(offered: Sequence[Offered], metric: str, launches: int, expected: Money) -> str:
    """Return a study of some offerings in a metric: a cell, or a column of a public table whose tool is known.

    Raises UserMistake if it is not known how the metric is measured.
    """
    probe, cell = _probe(metric)
    return "\n".join(_lines(offered, probe, cell, launches, expected)) + "\n"


def _lines(offered: Sequence[Offered], probe: str, cell: str, launches: int, expected: Money) -> Iterator[str]:
    yield "# Measures offerings of a fleet against those that may replace them."
    yield "# Written by `cloudcmp recommend --fleet`; `cloudcmp plan` says what it takes."
    yield "schema: 1"
    yield "question: Which offerings of the fleet can be replaced by a cheaper one?"
    yield "candidates:"
    for one in offered:
        place = {"provider": one.key.provider, "region": one.key.region, "offering": one.key.name}
        words = [f"{key}: {json.dumps(text)}" for key, text in place.items() if text]
        if one.price > 0:
            words.append(f"price: {one.price:.6g} {expected.currency}/h")
        yield f"  - {{{', '.join(words)}}}"
    yield "probes:"
    yield f"  - {probe}"
    yield "decide:"
    yield f"  - {json.dumps(cell)}"
    yield f"launches: {launches}"
    yield "runs: 1"
    yield "# Nothing is created that could lead above it."
    yield f"budget: {max(1, math.ceil(expected.amount * _TIMES))} {expected.currency}"


def _probe(metric: str) -> tuple[str, str]:
    """The line of the probe that measures a metric, and the cell that decides."""
    public = PUBLIC_COLUMNS.get(metric)
    if public is not None and public.probe:
        return public.probe, public.cell
    name = metric.partition(" ")[0]
    probe = next((one for one in PROBES.values() if name in one.metrics), None)
    if name not in METRICS or probe is None:
        raise UserMistake.at("--study", f"how {metric!r} is measured is not known here", "write a study of your own")
    cell = Cell.parse(metric)
    own = {one.name for one in probe.params}
    params = ", ".join(f"{key}: {json.dumps(value)}" for key, value in cell.params if key in own)
    return f"{{probe: {probe.name}{f', params: {{{params}}}' if params else ''}}}", metric
