"""The first screen of the report: the answer in a sentence for each basis, and a card for each candidate."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cloudcmp.answer.outlook import more_rounds
from cloudcmp.answer.selection import standing_lines
from cloudcmp.answer.words import place_in_decide, standings, undecided
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import OVERALL
from cloudcmp.model.plan import Candidate, hourly_cost
from cloudcmp.model.result import Basis, Verdict
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.numbers import UNKNOWN, change
from cloudcmp.report.report_model import MARKS, CellView, Standing, StudyView
from cloudcmp.report.sheets.sheet import KINDS, Forest, Whisker

_MOST_CARDS = 6
_MOST_WHISKERS = 5


@dataclass(frozen=True, slots=True)
class Card:
    """One candidate: its name, price, and how many measurements it wins, by performance and for the money."""

    name: str
    price: str
    wins: str
    money: str


def deciding_of(study: StudyView) -> list[CellView]:
    """Return the deciding cells with several candidates, in the order of the study's `decide`."""
    return sorted(
        (one for one in study.cells if one.decides and len(one.estimates) > 1),
        key=lambda one: place_in_decide(study.view.plan, Cell.parse(one.cell)),
    )


def measured_of(study: StudyView) -> list[CellView]:
    """Return the deciding cells that were measured: all but the study's own overall index, which would count twice."""
    return [one for one in deciding_of(study) if one.metric.name != OVERALL.name]


def overall_lines(study: StudyView, names: Sequence[str]) -> list[tuple[Basis, str]]:
    """Return who is best in the study's own overall index and by how much, on each basis; empty without an index."""
    lines = []
    for view in deciding_of(study):
        if view.metric.name == OVERALL.name:
            for basis, standing in ((Basis.PERFORMANCE, view.standing), (Basis.MONEY, view.money)):
                lines += [(basis, f"{_overall(standing, names)}.")] if standing else []
    return lines


def _overall(standing: Standing, names: Sequence[str]) -> str:
    two = standing.best_and_next()
    pair = standing.against(two[1], two[0]) if two else None
    if two is None or pair is None:
        return "unknown, because a weighted measurement has no values"
    endings = {Verdict.BETTER: "is best", Verdict.SAME: "is practically the same as the next"}
    ending = endings.get(standing.verdict(*two) or Verdict.CANNOT_TELL, "leads, undecided")
    return f"{names[two[0]]} {ending}; {names[two[1]]} is at {change(*pair, OVERALL.unit)} against it"


def conclusions(study: StudyView) -> tuple[str, ...]:
    """Return what the rule of a study concluded, a line for each cell; empty if it did not end the study."""
    lines = standing_lines(study.view.plan, {view.cell: view.name for view in study.cells})
    return tuple(one_line(study.short_names.within(line), 1000) for line in lines)


def sentences(study: StudyView) -> tuple[str, ...]:
    """Return who is best overall, and wins how many measurements, by performance and by work for money."""
    short = study.short
    deciding, names = measured_of(study), dict(enumerate(short))
    starts = {Basis.PERFORMANCE: "Overall", Basis.MONEY: "Overall, for money"}
    lines = [*conclusions(study), *(f"{starts[basis]}: {text}" for basis, text in overall_lines(study, short))]
    for start, chosen in (
        ("Of", [one.standing for one in deciding]),
        ("Work for money: of", [one.money for one in deciding if one.money]),
    ):
        winners = [(one.winner, undecided(one.winner, one.comparisons)) for one in chosen if one.winner]
        if winners:
            measurements = f"{len(winners)} measurement{'s' * (len(winners) > 1)}"
            lines.append(f"{start} {measurements}, {standings(winners, names)}.")
    return tuple(one_line(line, 1000) for line in lines)


def cards(study: StudyView) -> tuple[Card, ...]:
    """Return a card for each candidate, those that win or may win most first; of many, only the first six."""
    deciding, names = measured_of(study), study.short
    speed = _Best.of([one.standing for one in deciding])
    money = _Best.of([one.money for one in deciding if one.money])
    made = []
    for one in study.candidates if len(study.candidates) > 1 else ():
        shown = price_words(one)
        card = Card(one_line(names[one.index], 60), one_line(shown, 40), speed.words(one.index),
                    f"for the money: {money.words(one.index)}" if money.cells else "")  # fmt: skip
        places = zip(speed.counts(one.index), money.counts(one.index), strict=True)
        made.append(([-count for pair in places for count in pair], one.index, card))
    return tuple(card for *_, card in sorted(made, key=lambda row: row[:2])[:_MOST_CARDS])


def price_words(candidate: Candidate) -> str:
    """Return what an hour of all of a candidate's machines costs."""
    cost, price = hourly_cost(candidate), candidate.offering.price
    return "price unknown" if cost is None or price is None else f"{cost.normalize():f} {price.currency}/h"


@dataclass(frozen=True, slots=True)
class _Best:
    """The number of cells, and how many each candidate wins, ties in with other winners, and may still win."""

    cells: int
    wins: Counter[int]
    ties: Counter[int]
    open: Counter[int]

    @classmethod
    def of(cls, standings_: Sequence[Standing]) -> "_Best":
        wins, ties, open_ = Counter[int](), Counter[int](), Counter[int]()
        for one in standings_:
            if one.winner and not undecided(one.winner, one.comparisons):
                (wins if len(one.winner.winners) == 1 else ties).update(one.winner.winners)
            else:
                open_.update(at for at, mark in one.marks().items() if mark is Verdict.CANNOT_TELL)
        return cls(len(standings_), wins, ties, open_)

    def words(self, at: int) -> str:
        """Describe a candidate's wins: `wins 1 of 5, ties in 1, may win 2`."""
        wins, ties, open_ = self.counts(at)
        ties_, may = f", ties in {ties}" if ties else "", f", may win {open_}" if open_ else ""
        return f"wins {wins} of {self.cells}{ties_}{may}"

    def counts(self, at: int) -> tuple[int, int, int]:
        """The cells that a candidate wins, ties in and may still win."""
        return self.wins[at], self.ties[at], self.open[at]


def open_lines(study: StudyView) -> tuple[str, ...]:
    """Return a line for each undecided measurement with the rounds that would settle it, or why none would.

    Empty if the rule of the study has answered its question.
    """
    lines = []
    for view in () if conclusions(study) else deciding_of(study):
        for words, one in (("", view.standing), (" for the money", view.money)):
            if one is None or one.winner is None or not undecided(one.winner, one.comparisons):
                continue
            if one.outlook:
                would = (
                    "are the fewest that a verdict needs" if one.outlook.chance is None else "would probably settle it"
                )
                rest = f"{more_rounds(study.view.plan, one.outlook.rounds)} {would}"
            else:
                rest = one.comparisons.reason(*one.ranked[:2]) if len(one.ranked) > 1 else "no candidate gave values"
            lines.append(one_line(f"{view.name}{words}: {study.short_names.within(rest or 'undecided')}", 400))
    return tuple(lines)


def forest(view: CellView, standing: Standing, names: Sequence[str]) -> Forest | None:
    """Return the changes of all other candidates against the best, with their 95 % intervals; None if unknown."""
    leader, marks, rows = standing.leader, standing.marks(), []
    for at in standing.ranked[1 : 1 + _MOST_WHISKERS]:
        pair = None if leader is None else standing.against(at, leader)
        bounds = None if pair is None else pair[0].bounds
        if pair is None or pair[0].effect is None or bounds is None:
            continue
        one, turned = pair
        ends = [_axis(end, one.by_difference, turned) for end in (bounds.low, pair[0].effect, bounds.high)]
        rows.append((at, min(ends), ends[1], max(ends), change(one, turned, view.metric.unit)))
    if not rows:
        return None
    low, high = min(0.0, *(row[1] for row in rows)), max(0.0, *(row[3] for row in rows))
    width = (high - low) or 1.0

    def place(value: float) -> float:
        return round(4 + 92 * (value - low) / width, 1)

    return Forest(
        place(0.0),
        tuple(
            Whisker(one_line(names[at], 60), place(first), place(centre), place(last),
                    KINDS[marks.get(at, Verdict.CANNOT_TELL)],
                    f"{MARKS[marks.get(at, Verdict.CANNOT_TELL)]} {names[at]}: {words}")
            for at, first, centre, last, words in rows
        ),
    )  # fmt: skip


def _axis(effect: float, by_difference: bool, turned: bool) -> float:
    """Return a place on an axis on which no change is 0."""
    if by_difference:
        return -effect if turned else effect
    return (1 / effect if turned else effect) - 1.0


def value_words(standing: Standing, at: int) -> str:
    """A candidate's value with its mark, such as `▲ 4.47 Pflop/USD`."""
    marks = standing.marks()
    if at not in standing.values:
        return UNKNOWN
    text = standing.scale.quantity(standing.values[at])
    return f"{MARKS[marks[at]]} {text}" if at in marks else text
