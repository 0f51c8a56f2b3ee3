"""Who is better where: the verdicts on one page, and the winners by operation, class and threads."""

from collections.abc import Sequence

from cloudcmp.compare import WinnerRow, winner_rows
from cloudcmp.model.result import Verdict
from cloudcmp.report import numbers
from cloudcmp.report.book import MARKS, Book, Page
from cloudcmp.report.numbers import known
from cloudcmp.report.sheets.sheet import KINDS, Column, Field, Row, Sheet, captioned, columns, heading, row
from cloudcmp.report.words import direction, group_words, param_words, parse_cell

_MOST_COLUMNS = 6


def matrix(book: Book) -> Sheet | None:
    """A row for each deciding cell: every candidate's median and how it stands against the best; None without any."""
    groups = [(group, [page for page in pages if page.decides]) for group, pages in book.groups()]
    if not any(pages for _, pages in groups):
        return None
    wide = len(book.candidates) <= _MOST_COLUMNS
    rows: list[Row] = []
    for group, pages in groups:
        lines = [_wide(book, page) if wide else _long(book, page) for page in pages]
        rows += [heading(group_words(group)), *lines] if lines else []
    names = [one.id for one in book.candidates]
    titles = [Column("cell"), *(Column(name, numeric=True) for name in names)] if wide else columns(
        "cell", "best", "practically the same as the best", "worse", "cannot tell yet")  # fmt: skip
    note = ("▲ better than every other candidate · = practically the same as the best (within 3 %) · ▼ worse than "
            "the best · ? cannot tell yet. n: launches; ok: trials that gave a value, of those started.")  # fmt: skip
    caption = "Verdicts: medians, and how each stands against the best"
    return Sheet(captioned(book.origin, caption), tuple(titles), tuple(rows), note)


def _wide(book: Book, page: Page) -> Row:
    marks = page.marks()
    fields = [_standing(page, one.index, marks.get(one.index)) for one in book.candidates]
    said = "; ".join(filter(None, (direction(page.metric), book.names.shared(page.metric.name))))
    return row(Field(page.name, said), *fields)


def _standing(page: Page, at: int, verdict: Verdict | None) -> Field:
    one = page.estimates.get(at)
    if one is None:
        return Field("not offered", kind="none")
    counts = f"n {one.n}, {one.n_ok}/{one.n_started} ok"
    if not known(one.median):
        return Field("no value", f"{one.reason}; {counts}".lstrip("; "), "unsure")
    value = page.scale.quantity(one.median)
    if verdict is None:
        return Field(value, counts)
    return Field(f"{MARKS[verdict]} {value}", f"{said_of(page, at, verdict)}; {counts}", KINDS[verdict])


def said_of(page: Page, at: int, verdict: Verdict) -> str:
    """How a candidate stands against the best of its cell, in words."""
    leader = page.leader
    if at == leader:
        return {Verdict.BETTER: "better than the others", Verdict.SAME: "best"}.get(verdict, "best so far")
    found = None if leader is None else page.against(at, leader)
    if found is None:
        return str(verdict)
    one, turned = found
    why = f" ({one.reason})" if one.reason and verdict is Verdict.CANNOT_TELL else ""
    size = numbers.effect(one, page.metric.unit, turned=turned)
    return f"{verdict}{why}, {size}" if size != numbers.UNKNOWN else f"{verdict}{why}"


def _long(book: Book, page: Page) -> Row:
    marks, leader = page.marks(), page.leader

    def ids(*wanted: Verdict) -> str:
        return ", ".join(_counted(book, page, at) for at, verdict in sorted(marks.items())
                         if verdict in wanted and at != leader) or numbers.UNKNOWN  # fmt: skip

    best = "none" if leader is None else _counted(book, page, leader)
    value = "" if leader is None else page.scale.quantity(page.estimates[leader].median)
    kind = KINDS[marks[leader]] if leader in marks else ""
    rest = (ids(Verdict.SAME), ids(Verdict.WORSE), ids(Verdict.CANNOT_TELL, Verdict.BETTER))
    return row(Field(page.name, direction(page.metric)), Field(best, value, kind), *rest)


def _counted(book: Book, page: Page, at: int) -> str:
    one = page.estimates[at]
    return f"{book.candidates[at].id} (n {one.n}, {one.n_ok}/{one.n_started} ok)"


def winners(book: Book) -> Sheet | None:
    """The winners by operation, class and threads; a star marks the cheapest of those that are practically the same."""
    view = book.view
    found = winner_rows(view.plan, view.analysis.estimates, view.analysis.comparisons, view.metrics)
    if not found:
        return None
    places = sorted({(one.group, one.threads or "") for one in found}, key=lambda place: (place[0], _rank(place[1])))
    order = {_without_threads(page.cell): -at for at, page in reversed(list(enumerate(book.pages)))}
    operations = sorted(dict.fromkeys(one.operation for one in found), key=lambda one: -order.get(one, 0))
    by_place = {(one.operation, one.group, one.threads or ""): one for one in found}
    rows = [
        row(Field(_operation(book, operation)), *(_won(book, by_place.get((operation, *place))) for place in places))
        for operation in operations
    ]
    titles = ["operation", *(_place(place, [group for group, _ in places]) for place in places)]
    note = "* the cheapest of those that are practically the same. Several names: no verdict puts one behind another."
    return Sheet(captioned(book.origin, "Winners by operation, class and threads"), columns(*titles), tuple(rows), note)


def _rank(threads: str) -> tuple[int, int, str]:
    first = {"": 0, "one": 1, "many": 9, "all": 8}.get(threads)
    return (first, 0, "") if first is not None else (2, int(threads) if threads.isdigit() else 0, threads)


def _place(place: tuple[str, str], groups: Sequence[str]) -> str:
    group, threads = place
    words = param_words("threads", threads) if threads else "threads do not apply"
    return f"{group}: {words}" if group and len(set(groups)) > 1 else words


def _operation(book: Book, operation: str) -> str:
    cells = [page for page in book.pages if _without_threads(page.cell) == operation]
    return book.names.short(cells[0].cell if cells else operation, frozenset({"threads"}))


def _without_threads(text: str) -> str:
    cell = parse_cell(text)
    kept = ";".join(f"{key}={value}" for key, value in cell.params if key != "threads")
    return f"{cell.metric} {kept}" if kept else cell.metric


def _won(book: Book, found: WinnerRow | None) -> Field:
    if found is None:
        return Field(numbers.UNKNOWN, kind="none")
    one = found.winner
    names = ", ".join(f"{book.candidates[at].id}{'*' if at == one.starred else ''}" for at in one.winners)
    return Field(names or "none yet", one.reason, "" if names else "unsure")
