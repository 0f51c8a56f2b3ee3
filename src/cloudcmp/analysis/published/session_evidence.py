"""What the printed session values of a document can show: intervals, Welch's test after Holm, spreads, conclusions.

The tables are those of its `cov` relation, without columns that repeat another. All pairs of platforms in all tables
are one family of tests. The sessions are taken as independent values of one kind, as the document takes them; that they
are of different days and hours is in their spread. Does not know how many values stand behind a session.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cloudcmp.analysis.published.claims import SIGNIFICANT_BELOW
from cloudcmp.analysis.published.number import columns, sessions
from cloudcmp.analysis.published.relations import repeated_columns
from cloudcmp.published import Claim, Document
from cloudcmp.stats.adjust import holm
from cloudcmp.stats.describe import cov, mean, t_interval
from cloudcmp.stats.repetitions import about_launches_for
from cloudcmp.stats.spread import brown_forsythe
from cloudcmp.stats.tests import welch_t

WITHIN = 0.05
"""The half width of the median's interval, a share of it, for which the sessions needed are told."""


@dataclass(frozen=True, slots=True)
class SessionValues:
    """The sessions of one platform in one table, in the table's unit.

    low, high: Student's 95 % interval of the mean. cov: their coefficient of variation, a ratio. needed: about how many
    sessions give a median within +- 5 %, by CONFIRM's rule of thumb for normal values, taking `cov` for the true one.
    """

    table: str
    platform: str
    unit: str
    values: tuple[float, ...]
    mean: float
    low: float
    high: float
    cov: float
    needed: int


@dataclass(frozen=True, slots=True)
class SessionPair:
    """Two platforms in one table: `ratio` of the means of a and b, `p` of Welch's test; `spread_ratio` of their
    coefficients of variation, `p_spread` of Brown and Forsythe's test on values divided by their mean.

    The adjusted ones are after Holm, over all pairs of all tables.
    """

    table: str
    a: str
    b: str
    ratio: float
    p: float
    p_adjusted: float
    spread_ratio: float
    p_spread: float
    p_spread_adjusted: float


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One sentence on an order, on steadiness, or on significance, and whether all pairs behind it stand after Holm.

    against: the pairs that do not, with their adjusted p.
    """

    page: str
    section: str
    quote: str
    pairs: int
    stands: bool
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """What a document's sessions show: values and pairs in the order of its tables, conclusions in that of its text.

    better: the direction of all tables, `higher` or `lower`. copies: session tables left out, as they repeat another.
    """

    document: str
    better: str
    values: tuple[SessionValues, ...]
    pairs: tuple[SessionPair, ...]
    conclusions: tuple[Conclusion, ...]
    copies: tuple[str, ...]


def session_evidence(document: Document) -> SessionEvidence | None:
    """The evidence of a document's session tables; None if it prints no sessions."""
    relation = next((one for one in document.relations if one.kind == "cov"), None)
    if relation is None:
        return None
    copies = {repeat.table.number for one in document.relations if one.kind == "distinct"
              for repeat in repeated_columns(document, one)}  # fmt: skip
    kept = [number for number in relation.tables if number not in copies]
    values = tuple(one for number in kept for one in _values(document, number))
    pairs = _adjusted(tuple(_pairs(values)))
    return SessionEvidence(
        document.name,
        relation.better,
        values,
        pairs,
        tuple(_conclusions(document, pairs, kept)),
        tuple(number for number in relation.tables if number in copies),
    )


def _values(document: Document, number: str) -> Iterator[SessionValues]:
    table = document.table(number)
    for platform, figures in sessions(document, table).items():
        values = tuple(one.value for one in figures)
        spread, interval = cov(values), t_interval(values)
        if spread is None or interval is None:
            raise ValueError(f"table {number}: {platform} needs two sessions or more")
        needed = about_launches_for(spread, WITHIN)
        yield SessionValues(
            number, platform, table.unit, values, mean(values), interval.low, interval.high, spread, needed
        )


def _pairs(values: tuple[SessionValues, ...]) -> Iterator[SessionPair]:
    """The pairs before any adjustment."""
    for table, group in itertools.groupby(values, key=lambda one: one.table):
        for a, b in itertools.combinations(group, 2):
            test = welch_t(a.values, b.values)
            if test is None:
                raise ValueError(f"table {table}: Welch's test needs two sessions on either side")
            spread = brown_forsythe(np.array(a.values) / a.mean, np.array(b.values) / b.mean)
            yield SessionPair(
                table,
                a.platform,
                b.platform,
                a.mean / b.mean,
                test.p_value,
                test.p_value,
                a.cov / b.cov,
                spread,
                spread,
            )


def _adjusted(pairs: tuple[SessionPair, ...]) -> tuple[SessionPair, ...]:
    means, spreads = holm([one.p for one in pairs]), holm([one.p_spread for one in pairs])
    return tuple(
        replace(one, p_adjusted=float(p), p_spread_adjusted=float(spread))
        for one, p, spread in zip(pairs, means, spreads, strict=True)
    )


def _conclusions(document: Document, pairs: tuple[SessionPair, ...], kept: list[str]) -> Iterator[Conclusion]:
    for claim in document.claims:
        tables = _session_tables(document, claim) if claim.kind in _WANTED else ()
        if not tables or not set(tables) <= set(kept):
            continue
        wanted = [
            (one, sign)
            for one in pairs
            if one.table in tables and (sign := _WANTED[claim.kind](one, claim)) is not None
        ]
        against = tuple(f"table {one.table} {one.a}/{one.b} p {p:.2g}" for one, (p, stands) in wanted if not stands)
        yield Conclusion(claim.page, claim.section, claim.quote, len(wanted), not against, against)


def _session_tables(document: Document, claim: Claim) -> tuple[str, ...]:
    """The session tables behind a claim's columns; empty if one of them does not come from sessions."""
    found = []
    for reference in claim.tables:
        for table, column in columns(document, reference):
            of = [r.of[0] for r in document.relations if r.into == table.number and r.column == column and r.of]
            if any(r.kind == "cov" and table.number in r.tables for r in document.relations):
                of = [table.number]
            if not of:
                return ()
            found.append(of[0])
    return tuple(dict.fromkeys(found))


_Stand = tuple[float, bool]


def _higher(pair: SessionPair, claim: Claim) -> _Stand | None:
    return _apart(pair, claim, pair.ratio, pair.p_adjusted, named_above=True)


def _lower(pair: SessionPair, claim: Claim) -> _Stand | None:
    return _apart(pair, claim, pair.ratio, pair.p_adjusted, named_above=False)


def _steadier(pair: SessionPair, claim: Claim) -> _Stand | None:
    return _apart(pair, claim, pair.spread_ratio, pair.p_spread_adjusted, named_above=False)


def _less_steady(pair: SessionPair, claim: Claim) -> _Stand | None:
    return _apart(pair, claim, pair.spread_ratio, pair.p_spread_adjusted, named_above=True)


def _different(pair: SessionPair, claim: Claim) -> _Stand | None:
    named = {frozenset(name.split("/")) for name in claim.names}
    return (pair.p_adjusted, pair.p_adjusted < SIGNIFICANT_BELOW) if frozenset((pair.a, pair.b)) in named else None


def _apart(pair: SessionPair, claim: Claim, ratio: float, p: float, *, named_above: bool) -> _Stand | None:
    """Whether a named platform is above (or below) the other one of the pair; None unless one of both is named."""
    first = pair.a in claim.names
    if first == (pair.b in claim.names):
        return None
    above = (ratio > 1.0) == first
    return p, above == named_above and p < SIGNIFICANT_BELOW


_WANTED = {
    "highest": _higher,
    "lowest": _lower,
    "steadiest": _steadier,
    "most_variable": _less_steady,
    "significant": _different,
}
"""The kinds of sentences that sessions can bear out; each gives a pair's adjusted p, and whether the pair stands."""
