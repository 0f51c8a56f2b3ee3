"""Launches whose two machines seem to be on one host, by their rate and by their round trip."""

from collections.abc import Iterator, Sequence
from statistics import median

from cloudcmp.compare.advertised import TCP
from cloudcmp.compare.verdict import SAME_RATIO
from cloudcmp.model.cast import LOOPBACK, NEIGHBOUR, REGIONS, SAME_ZONE, ZONES
from cloudcmp.model.cell import Cell
from cloudcmp.model.co_location import CoLocation, Sign
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.promise import Promised
from cloudcmp.model.result import Estimate
from cloudcmp.model.study import FEWEST_LAUNCHES

RTT, _MIDDLE = "rtt_s", "50"
FAR_BELOW = 0.5
"""The share of the other launches' median below which a round trip is far below theirs."""
_APART = frozenset({LOOPBACK, ZONES, REGIONS})
"""Paths that are not between two machines which may be on one host."""
OWN_HOSTS = frozenset({"local", "netns", "qemu", "ssh"})
"""Providers whose machines are known to be on one host."""


def is_pair(cell: Cell) -> bool:
    """True if a cell is measured between the first two machines of a launch, which may be on one host.

    Beside a neighbour, the other end is another machine.
    """
    return (cell.get("path") or LOOPBACK) not in _APART and cell.get(NEIGHBOUR) is None


def co_location_of(plan: Plan, estimates: Sequence[Estimate]) -> tuple[CoLocation, ...]:
    """The signs of co-location by candidate and round; empty where nothing is promised and round trips are alike.

    A launch has the sign of its rate if the TCP payload of its fastest setting is more than 3 % above the highest
    promised rate (CloudCmp left such pairs out: IMC 2010). It has the sign of its round trip if its median
    within one zone is less than half of the median over the candidate's other launches, of which there are at least
    five. A candidate whose machines are known to be on one host has none, and so has an imported value of an unknown
    round.
    """
    found = []
    for candidate in plan.candidates:
        if candidate.service is None and candidate.runner not in OWN_HOSTS:
            own = [one for one in estimates if one.candidate == candidate.index and one.offered]
            found += [*_by_rate(candidate, own), *_by_round_trip(own)]
    return tuple(sorted(found, key=lambda one: (one.candidate, one.round, one.session or "", one.sign)))


_Launch = tuple[int, str | None]


def _by_rate(candidate: Candidate, estimates: Sequence[Estimate]) -> Iterator[CoLocation]:
    promised = candidate.offering.promised_rate(Promised.NETWORK)
    if promised is None:
        return
    fastest: dict[_Launch, tuple[float, str]] = {}
    for one in _measured(estimates, TCP):
        for launch, value in _launches(one):
            fastest[launch] = max(fastest.get(launch, (0.0, "")), (value, one.cell))
    for (round_, session), (value, cell) in fastest.items():
        if value > promised * SAME_RATIO:
            yield CoLocation(candidate.index, round_, session, Sign.RATE, cell, value, promised, len(fastest))


def _by_round_trip(estimates: Sequence[Estimate]) -> Iterator[CoLocation]:
    """At most one sign for each launch: that of the cell in which it is furthest below the others."""
    lowest: dict[_Launch, CoLocation] = {}
    for one in _measured(estimates, RTT):
        known, cell = dict(_launches(one)), Cell.parse(one.cell)
        middle = (cell.get("path"), cell.get("percentile")) == (SAME_ZONE, _MIDDLE)
        if not middle or len(known) < FEWEST_LAUNCHES:
            continue
        for launch, value in known.items():
            limit = FAR_BELOW * median(other for at, other in known.items() if at != launch)
            had = lowest.get(launch)
            if value < limit and (had is None or value / limit < had.value / had.limit):
                sign = Sign.ROUND_TRIP
                lowest[launch] = CoLocation(one.candidate, *launch, sign, one.cell, value, limit, len(known))
    yield from lowest.values()


def _measured(estimates: Sequence[Estimate], metric: str) -> Iterator[Estimate]:
    for one in estimates:
        cell = Cell.parse(one.cell)
        if cell.metric == metric and is_pair(cell):
            yield one


def _launches(one: Estimate) -> Iterator[tuple[_Launch, float]]:
    """The launch values with a known round."""
    for round_, session, value in zip(one.rounds, one.sessions, one.values, strict=True):
        if round_ is not None:
            yield (round_, session), value
