"""The sheets of verdicts in one matrix, and of winners by operation, class and threads."""

from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.compare import WinnerRow, winner_rows
from cloudcmp.model.result import Verdict
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report import numbers
from cloudcmp.report.numbers import UNKNOWN, known
from cloudcmp.report.report_model import MARKS, CellView, Standing, StudyView
from cloudcmp.report.sheets.sheet import KINDS, Column, Field, Row, Sheet, captioned, columns, row
from cloudcmp.report.sheets.summary import deciding_of, forest, value_words
from cloudcmp.report.words import direction, param_words, parse_cell

_MOST_COLUMNS = 6
_MOST_NAMES = 4


def matrix(study: StudyView) -> Sheet | None:
    """Return a row for each deciding cell, in the order of the study's `decide`; None if nothing decides.

    Up to six candidates have a column each, with the median, the work for money and the verdict against the best; of
    more, the best is named, and those that are practically the same, behind or undecided are listed. The last column
    draws each candidate's change against the best.
    """
    views = deciding_of(study)
    if not views:
        return None
    names = study.short
    wide = len(study.candidates) <= _MOST_COLUMNS
    rows = [
        replace(_wide(study, view) if wide else _long(view, names), forest=forest(view, view.standing, names))
        for view in views
    ]
    titles = [Column("measurement"), *(Column(one_line(name, 60), numeric=True) for name in names)] if wide else [
        *columns("measurement", "best", "practically the same", "behind", "undecided")]  # fmt: skip
    note = (
        "▲ better than every other candidate · = practically the same as the best (within 3 %) · ▼ worse than the best "
        "· ? cannot tell yet. Changes are against the best (the vertical line), for the money against the most: means "
        "round by round, with 95 % intervals; n: launches; ok: trials that gave a value, of those started."
    )
    caption = "Verdicts: medians, work for money, and each candidate against the best"
    return Sheet(captioned(study.origin, caption), (*titles, Column("change against the best")), tuple(rows), note)


def _wide(study: StudyView, view: CellView) -> Row:
    marks = view.marks()
    fields = [_standing(study, view, one.index, marks.get(one.index)) for one in study.candidates]
    words = "; ".join(filter(None, (direction(view.metric), study.names.shared(view.metric.name))))
    return row(Field(view.name, words), *fields)


def _standing(study: StudyView, view: CellView, at: int, verdict: Verdict | None) -> Field:
    one = view.estimates.get(at)
    if one is None:
        return Field("not offered", kind="none")
    counts = f"n {one.n}, {one.n_ok}/{one.n_started} ok"
    if not known(one.median):
        return Field("no value", f"{one.reason}; {counts}".lstrip("; "), "unsure")
    value = view.scale.quantity(one.median)
    if verdict is None:
        return Field(value, counts)
    paid = _paid(view.money, at, view.metric.unit) if view.money is not None else ""
    return Field(
        f"{MARKS[verdict]} {value}",
        f"{study.short_names.within(standing_words(view, at, verdict))}; {counts}",
        KINDS[verdict],
        paid,
    )


def _paid(money: Standing, at: int, unit: str) -> str:
    """A candidate's work for money, and its change against the most with its interval."""
    leader = money.leader
    pair = None if leader is None or leader == at else money.against(at, leader)
    return value_words(money, at) if pair is None else f"{value_words(money, at)}, {numbers.change(*pair, unit)}"


def standing_words(view: CellView, at: int, verdict: Verdict) -> str:
    """Describe the verdict on a candidate against the best of its cell."""
    leader = view.leader
    if at == leader:
        return {Verdict.BETTER: "better than the others", Verdict.SAME: "best"}.get(verdict, "best so far")
    pair = None if leader is None else view.against(at, leader)
    if pair is None:
        return str(verdict)
    one, turned = pair
    why = f" ({one.reason})" if one.reason and verdict is Verdict.CANNOT_TELL else ""
    size = numbers.effect(one, view.metric.unit, turned=turned)
    notes = "".join(f"; {note}" for note in view.standing.notes(at, leader)) if leader is not None else ""
    return f"{verdict}{why}, {size}{notes}" if size != numbers.UNKNOWN else f"{verdict}{why}"


def _long(view: CellView, names: Sequence[str]) -> Row:
    marks, leader = view.marks(), view.leader
    ranked = [at for at in (*view.standing.ranked, *sorted(marks)) if at != leader]

    def listed(*wanted: Verdict) -> Field:
        some = [names[at] for at in dict.fromkeys(ranked) if marks.get(at) in wanted]
        more = f" and {len(some) - _MOST_NAMES} more" if len(some) > _MOST_NAMES else ""
        return Field(f"{len(some)}" if some else UNKNOWN, ", ".join(some[:_MOST_NAMES]) + more)

    best = Field("none yet", kind="unsure")
    if leader is not None:
        one = view.estimates[leader]
        text = f"{MARKS[marks[leader]]} {names[leader]}" if leader in marks else names[leader]
        value = f"{view.scale.quantity(one.median)}; n {one.n}, {one.n_ok}/{one.n_started} ok"
        money = view.money.leader if view.money else None
        paid = f"most for the money: {names[money]}" if money is not None else ""
        best = Field(text, value, KINDS[marks[leader]] if leader in marks else "", paid)
    rest = (listed(Verdict.SAME), listed(Verdict.WORSE), listed(Verdict.CANNOT_TELL, Verdict.BETTER))
    return row(Field(view.name, direction(view.metric)), best, *rest)


def winners(study: StudyView) -> Sheet | None:
    """The winners by operation, class and threads; a star marks the cheapest of those that are practically the same."""
    view = study.view
    found = winner_rows(view.plan, view.analysis.estimates, view.analysis.comparisons, view.metrics)
    if not found:
        return None
    places = sorted({(one.group, one.threads or "") for one in found}, key=lambda place: (place[0], _rank(place[1])))
    order = {_without_threads(view.cell): -at for at, view in reversed(list(enumerate(study.cells)))}
    operations = sorted(dict.fromkeys(one.operation for one in found), key=lambda one: -order.get(one, 0))
    by_place = {(one.operation, one.group, one.threads or ""): one for one in found}
    rows = [
        row(Field(_operation(study, operation)), *(_won(study, by_place.get((operation, *place))) for place in places))
        for operation in operations
    ]
    titles = ["operation", *(_place(place, [group for group, _ in places]) for place in places)]
    note = "* the cheapest of those that are practically the same. Several names: no verdict puts one behind another."
    return Sheet(
        captioned(study.origin, "Winners by operation, class and threads"), columns(*titles), tuple(rows), note
    )


def _rank(threads: str) -> tuple[int, int, str]:
    first = {"": 0, "one": 1, "many": 9, "all": 8}.get(threads)
    return (first, 0, "") if first is not None else (2, int(threads) if threads.isdigit() else 0, threads)


def _place(place: tuple[str, str], groups: Sequence[str]) -> str:
    group, threads = place
    words = param_words("threads", threads) if threads else "threads do not apply"
    return f"{group}: {words}" if group and len(set(groups)) > 1 else words


def _operation(study: StudyView, operation: str) -> str:
    cells = [view for view in study.cells if _without_threads(view.cell) == operation]
    return study.names.short(cells[0].cell if cells else operation, frozenset({"threads"}))


def _without_threads(text: str) -> str:
    cell = parse_cell(text)
    kept = ";".join(f"{key}={value}" for key, value in cell.params if key != "threads")
    return f"{cell.metric} {kept}" if kept else cell.metric


def _won(study: StudyView, found: WinnerRow | None) -> Field:
    if found is None:
        return Field(numbers.UNKNOWN, kind="none")
    one = found.winner
    names = ", ".join(f"{study.candidates[at].id}{'*' if at == one.starred else ''}" for at in one.winners)
    return Field(names or "none yet", one.reason, "" if names else "unsure")
