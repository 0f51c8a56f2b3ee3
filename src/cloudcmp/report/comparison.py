"""The comparison in a terminal of 80 columns, with marks that need no colour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.text import Text

from cloudcmp.model.plan import hourly_cost
from cloudcmp.model.result import Verdict
from cloudcmp.model.untrusted_text import clip, one_line, visible
from cloudcmp.model.view import View
from cloudcmp.report import numbers
from cloudcmp.report.book import MARKS, Book, Page
from cloudcmp.report.command_lines import show_commands
from cloudcmp.report.money import figures_of
from cloudcmp.report.numbers import known
from cloudcmp.report.sheets import offered, scaling
from cloudcmp.report.sheets.asked import no_price
from cloudcmp.report.sheets.outcomes import warnings
from cloudcmp.report.sheets.verdicts import said_of
from cloudcmp.report.table import WIDEST, Head, ascii_only, put, say, table
from cloudcmp.report.text import plain_ascii, short_names, without_common
from cloudcmp.report.words import direction, group_words

STYLES = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.SAME: "cyan", Verdict.CANNOT_TELL: "yellow"}
_MOST_COLUMNS, _LEAST_COLUMN = 4, 14
_MOST_WARNINGS = 8

Exploratory = Literal["hidden", "brief", "full"]


@dataclass(frozen=True, slots=True)
class _Screen:
    """Where the comparison is printed: the console, its whole and its usable width, whether it shows nothing but ASCII,
    and what the candidates are called there."""

    console: Console
    whole: int
    ascii: bool
    width: int
    names: tuple[str, ...]
    label: int
    column: int

    @classmethod
    def of(cls, console: Console, book: Book) -> "_Screen":
        width, count = min(console.width, WIDEST), max(1, len(book.candidates))
        column = max(_LEAST_COLUMN, min(18, (width - 24) // count))
        names = _names(book, column - 2)
        return cls(console, console.width, ascii_only(console), width, names, max(10, width - count * column), column)

    @property
    def in_columns(self) -> bool:
        return len(self.names) <= _MOST_COLUMNS and self.label + len(self.names) * self.column <= self.width

    def put(self, *parts: str | tuple[str, str]) -> None:
        """One line of styled parts, cut at the terminal's width."""
        line = Text()
        for part in parts:
            text, style = (part, "") if isinstance(part, str) else part
            shown = visible(text)  # as long as before, so that columns stay
            line.append(plain_ascii(shown) if self.ascii else shown, style)
        line.truncate(self.whole, overflow="crop")
        put(self.console, line)


def show(console: Console, view: View, *, exploratory: Exploratory = "hidden") -> None:
    """Print the comparison of a study: who was compared, every deciding cell, warnings, and the answer last.

    At most 100 of the console's columns are used, and 80 are enough for up to four candidates side by side.
    exploratory: what is shown of cells that get no verdict; where no cell decides, all of it.
    """
    book = Book.of(view)
    screen = _Screen.of(console, book)
    _heading(screen, book)
    decide = [page for page in book.pages if page.decides]
    mode = exploratory if decide else "full"
    for group, pages in book.groups():
        whole = [page for page in pages if page.decides or mode == "full"]
        brief = [page for page in pages if page not in whole and mode == "brief"]
        if whole or brief:
            _group(screen, book, group_words(group), whole, brief)
    if mode == "hidden" and len(decide) < len(book.pages):
        rest = f"{len(book.pages) - len(decide)} exploratory of {len(book.pages)} cells"
        say(console, f"Not shown, because they get no verdict: {rest}; --all shows them.", "dim")
    _scaling(screen, book)
    show_commands(console, [use for use in view.commands if use.free])
    _closing(screen, book)


def _scaling(screen: _Screen, book: Book) -> None:
    """How fast machines come, in two tables; nothing where none was asked for."""
    for title, heads, rows, note in scaling.brief(book, screen.names):
        screen.put("")
        table(screen.console, [heads[0], *map(Head, heads[1:])], rows, title=title)
        say(screen.console, note, "dim")


def _names(book: Book, limit: int) -> tuple[str, ...]:
    """What candidates are called on the screen: without what all their names begin with, else a letter each."""
    short = without_common([one.id for one in book.candidates])
    if max(map(len, short), default=0) <= limit or len(short) > _MOST_COLUMNS:
        return short_names(short, max(limit, 24))
    return tuple("ABCD"[: len(short)])


def _heading(screen: _Screen, book: Book) -> None:
    say(screen.console, f"{book.view.plan.name}: {book.view.plan.question}", "bold")
    if book.origin:
        say(screen.console, f"{book.origin}{': planted numbers, not measured' if 'SIMULATED' in book.origin else ''}",
            "bold yellow")  # fmt: skip
    offers = offered.brief(book)
    if offers:
        table(screen.console, ("provider", "offers", "where", "prices of"), offers)
    rows = []
    for name, one in zip(screen.names, book.candidates, strict=True):
        size = [f"{one.offering.vcpus:g} vCPU{'s' if one.offering.vcpus > 1 else ''}" if one.offering.vcpus else "",
                f"{one.offering.memory_gib:.4g} GiB" if one.offering.memory_gib else ""]  # fmt: skip
        cost, price = hourly_cost(one), one.offering.price
        money = "price unknown" if cost is None or price is None else f"{cost.normalize():f} {price.currency}/h"
        rows.append((name, one_line(one.id, 200), ", ".join(filter(None, size)), money))
    if all(row[0] == row[1] for row in rows):
        table(screen.console, ("candidate", "size", Head("price")), [(row[0], *row[2:]) for row in rows])
    else:
        table(screen.console, ("candidate", "in full", "size", Head("price")), rows)
    if len(book.candidates) < 2:
        say(screen.console, "One candidate: nothing to compare it with.")
    else:
        say(screen.console, "▲ better than all others    = practically the same as the best", keep=True)
        say(screen.console, "▼ worse than the best       ? cannot tell yet", keep=True)
    say(screen.console, "± half of the median's interval; k/n: trials with a value, of those started", "dim")
    if len(book.candidates) > 1:
        say(screen.console, "(+x %) means paired round by round, not the quotient of the medians", "dim")


def _group(screen: _Screen, book: Book, group: str, pages: Sequence[Page], brief: Sequence[Page]) -> None:
    title = f"{group} [{book.origin}]" if book.origin else group
    screen.put("")
    if not screen.in_columns:
        screen.put((clip(title, screen.width), "bold underline"))
        for page in (*pages, *brief):
            _rows(screen, book, page)
        return
    long = len(title) >= screen.label
    if long:
        screen.put((clip(title, screen.width), "bold underline"))
    heads = "".join(name.rjust(screen.column) for name in screen.names)
    screen.put(("".ljust(screen.label) if long else title, "bold underline"), (heads.rjust(
        screen.width - (screen.label if long else len(title))), "bold"))  # fmt: skip
    for page in pages:
        _columns(screen, book, page)
    if brief:
        screen.put(("Without a verdict:", "dim"))
    for page in brief:
        _brief(screen, page)


def _brief(screen: _Screen, page: Page) -> None:
    """A cell that gets no verdict: a line of values with their half-widths and counts, with its name where it fits."""
    name = f"{page.name}, {page.scale.unit}".rstrip(", ")
    figures = [_value(screen, page, at, None).strip() for at in range(len(screen.names))]
    texts = [f"{figure} {_counts(page, at)}" for at, figure in enumerate(figures)]
    if max(map(len, texts)) >= screen.column:  # the half-width is in the report; the counts stay
        texts = [f"{figure} {_counts(page, at).split(' ')[-1]}" for at, figure in enumerate(figures)]
    values = "".join(text.rjust(screen.column) for text in texts)
    if len(name) < screen.label:
        screen.put((name.ljust(screen.label), "dim"), values)
    else:
        screen.put((clip(name, screen.width), "dim"))
        screen.put("".ljust(screen.label) + values)


def _columns(screen: _Screen, book: Book, page: Page) -> None:
    """A cell with the candidates side by side: values, then half-widths and counts, then money, then words."""
    marks = page.marks()
    unit = f"  {', '.join(filter(None, (page.scale.unit, direction(page.metric))))}"
    labels = [page.name, unit] if len(page.name) < screen.label else ["  " + unit.strip(), ""]
    if len(page.name) >= screen.label:
        screen.put((clip(page.name, screen.width), "bold"))
    values = [(_value(screen, page, at, marks.get(at)), STYLES.get(marks[at], "") if at in marks else "")
              for at in range(len(screen.names))]  # fmt: skip
    screen.put((clip(labels[0], screen.label - 1).ljust(screen.label), "bold" if labels[1] else "dim"), *values)
    counts = "".join(_counts(page, at).rjust(screen.column) for at in range(len(screen.names)))
    screen.put((clip(labels[1], screen.label - 1).ljust(screen.label) + counts, "dim"))
    costs = figures_of(book, page)
    if costs is not None:
        sums = [costs.scale.number(costs.values.get(at)) for at in range(len(screen.names))]
        shown = "".join(text.rjust(screen.column) for text in sums)
        screen.put((f"  {clip(costs.axis, screen.label - 3)}".ljust(screen.label) + shown, "dim"))
    words = "; ".join(_words(screen, page, marks))
    if words:
        say(screen.console, words, indent=2)


def _value(screen: _Screen, page: Page, at: int, verdict: Verdict | None) -> str:
    one = page.estimates.get(at)
    if one is None:
        return "not offered".rjust(screen.column)
    star = "*" if page.winner is not None and page.winner.starred == at else ""
    text = page.scale.number(one.median) if known(one.median) else "no value"
    return f"{MARKS[verdict] + ' ' if verdict else ''}{text}{star}".rjust(screen.column)


def _counts(page: Page, at: int) -> str:
    one = page.estimates.get(at)
    if one is None:
        return numbers.UNKNOWN
    half = page.scale.half_width(one.median_bounds, one.median)
    return f"{'±' + half + ' ' if half else ''}{one.n_ok}/{one.n_started}"


def _words(screen: _Screen, page: Page, marks: dict[int, Verdict]) -> Iterator[str]:
    """The verdicts of a cell in words, the best against the others; what could be told; and over how many launches."""
    leader, names = page.leader, screen.names
    if len(page.estimates) > 1 and not page.decides:
        yield "exploratory: no verdict"
    if marks and leader is not None:
        for verdict in (Verdict.WORSE, Verdict.SAME, Verdict.CANNOT_TELL, Verdict.BETTER):
            told = [_against(page, leader, at, names[at]) for at in sorted(marks)
                    if at != leader and (page.verdict(at, leader) or Verdict.CANNOT_TELL) is verdict]  # fmt: skip
            if told:
                yield f"{names[leader]} {_SAID[verdict]} {', '.join(told)}"
        if page.winner is not None and page.winner.starred is not None:
            yield f"* {names[page.winner.starred]} is the cheapest of these"
    elif marks:
        yield "cannot tell yet: no candidate gave values"
    sizes = [one for one in page.of_leader() if known(one.detectable)] if marks else []
    if sizes:
        widest = max(sizes, key=lambda one: one.detectable or 0.0)
        yield f"detectable {numbers.detectable(widest, page.metric.unit)}"
    counts = [one.n for one in page.estimates.values()]
    yield f"n {counts[0]}" if len(set(counts)) == 1 else f"n {', '.join(map(str, counts))}"


_SAID = {
    Verdict.WORSE: "better than",
    Verdict.SAME: "practically the same as",
    Verdict.CANNOT_TELL: "cannot yet be told from",
    Verdict.BETTER: "worse than",
}


def _against(page: Page, leader: int, at: int, name: str) -> str:
    found = page.against(leader, at)
    if found is None:
        return name
    one, turned = found
    size = numbers.effect(one, page.metric.unit, turned=turned)
    unsure = one.reason if one.verdict is Verdict.CANNOT_TELL else ""
    inside = "; ".join(filter(None, (size if size != numbers.UNKNOWN else "", one_line(unsure, 120), *one.marks)))
    return f"{name} ({inside})" if inside else name


def _rows(screen: _Screen, book: Book, page: Page) -> None:
    """A cell with a line for each candidate, for more candidates than fit side by side."""
    unit = ", ".join(filter(None, (page.scale.unit, direction(page.metric))))
    screen.put((clip(f"{page.name} ({unit})", screen.width), "bold"))
    marks, costs = page.marks(), figures_of(book, page)
    width = max(map(len, screen.names))
    for at, one in page.estimates.items():
        half = page.scale.half_width(one.median_bounds, one.median)
        value = page.scale.number(one.median) if known(one.median) else "no value"
        verdict = marks.get(at)
        said = said_of(page, at, verdict) if verdict else one.reason
        money = f"{costs.scale.number(costs.values.get(at))} {costs.axis}" if costs and at in costs.values else ""
        head = f"  {MARKS[verdict] if verdict else ' '} {screen.names[at]:{width}} {value:>8}"
        line = f"{head} {'±' + half if half else '':7} {f'n {one.n}, {one.n_ok}/{one.n_started}':11}"
        style = STYLES.get(verdict, "") if verdict else ""
        if len(line) + len(said) < screen.width:
            screen.put((f"{line} {said}", style))
        else:
            screen.put((line, style))
            say(screen.console, said, style, indent=6)
        if money:
            screen.put((f"{'':{max(0, len(head) - len(money.partition(' ')[0]))}}{money}", "dim"))


def _closing(screen: _Screen, book: Book) -> None:
    told = warnings(book)
    if told or no_price(book):
        screen.put("")
    for line in told[:_MOST_WARNINGS]:
        say(screen.console, f"warning: {line}", "yellow")
    if len(told) > _MOST_WARNINGS:
        say(screen.console, f"warning: {len(told) - _MOST_WARNINGS} more are in the report", "yellow")
    if no_price(book):
        say(screen.console, no_price(book))
    if book.view.analysis.answer:
        screen.put("")
        screen.put((f"Answer [{book.origin}]" if book.origin else "Answer", "bold"))
    for line in book.view.analysis.answer:
        say(screen.console, line, indent=2)
