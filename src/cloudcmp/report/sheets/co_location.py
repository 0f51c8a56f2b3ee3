"""Launches that are marked as co-located: their two machines exchange more than the promised network."""

from collections.abc import Iterator, Sequence

from cloudcmp.compare import OWN_HOSTS, is_pair
from cloudcmp.model.co_location import CoLocation, Sign
from cloudcmp.model.plan import Candidate
from cloudcmp.model.promise import Promised
from cloudcmp.report.report_model import CellView, StudyView
from cloudcmp.report.sheets.sheet import Column, Row, Sheet, captioned, row
from cloudcmp.report.words import parse_cell
from cloudcmp.units import format_quantity

NOTE = (
    "Marked: TCP payload more than 3 % above the highest promised rate, so that it hardly went through a network card; "
    "or the provider delivers more than it promises. CloudCmp left such pairs out (IMC 2010). Here the box plots "
    "leave them out; tables, intervals and verdicts count them."
)


def rate_words(value: float) -> str:
    """A rate of a network, in bits a second."""
    return format_quantity(8 * value, "bit/s")


def marked(study: StudyView, candidate: int) -> list[CoLocation]:
    """The launches of a candidate that are marked as co-located."""
    return [one for one in study.view.co_location if one.candidate == candidate and one.sign is Sign.RATE]


def launch_values(study: StudyView, view: CellView, candidate: int) -> list[tuple[float, bool]]:
    """The launch values of a candidate in a cell, each with whether its launch is marked as co-located.

    Between zones or regions none is: only a pair that may be on one host can be.
    """
    own, cell = view.estimates[candidate], parse_cell(view.cell)
    launches = {(one.round, one.session) for one in marked(study, candidate)} if is_pair(cell) else set()
    of_launch = zip(own.rounds, own.sessions, own.values, strict=True)
    return [(value, (round_, session) in launches) for round_, session, value in of_launch]


def lines(study: StudyView) -> list[str]:
    """A line for each candidate with launches that are marked as co-located."""
    found = []
    for candidate in study.candidates:
        some = marked(study, candidate.index)
        if some:
            fastest = max(some, key=lambda one: one.value)
            every = "; that is every launch: does the provider deliver more?" if len(some) == fastest.n else ""
            found.append(
                f"{candidate.id}: {len(some)} of {fastest.n} launches marked as co-located: up to "
                f"{rate_words(fastest.value)} where {rate_words(fastest.limit)} is promised; box plots leave them out, "
                f"verdicts do not{every}"
            )
    return found


def untold(study: StudyView, views: Sequence[CellView]) -> str:
    """The candidates with transfers between machines whose co-location cannot be told, in a sentence; may be empty."""
    measured = {at for view in views for at, own in view.estimates.items() if own.values}
    some = [one.id for one in study.candidates if one.index in measured and _is_untold(one)]
    names = ", ".join(some[:3]) + (f" and {len(some) - 3} more" if len(some) > 3 else "")
    return f"Co-location cannot be told, because no rate is promised: {names}." if some else ""


def _is_untold(one: Candidate) -> bool:
    return one.runner not in OWN_HOSTS and one.offering.promised_rate(Promised.NETWORK) is None


def sheet(study: StudyView) -> Sheet | None:
    """The launches that are marked as co-located; None without any."""
    rows = tuple(_rows(study))
    columns = (
        Column("candidate"), Column("round", True), Column("session"), Column("delivered", True),
        Column("promised at most", True), Column("fastest setting"),
    )  # fmt: skip
    return Sheet(captioned(study.origin, "Launches marked as co-located"), columns, rows, NOTE) if rows else None


def _rows(study: StudyView) -> Iterator[Row]:
    for candidate in study.candidates:
        for one in marked(study, candidate.index):
            rates = (rate_words(one.value), rate_words(one.limit))
            yield row(candidate.id, str(one.round + 1), one.session or "", *rates, study.names.short(one.cell))
