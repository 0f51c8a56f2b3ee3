"""Prints the comparison in a terminal of 80 columns, with marks that need no colour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.text import Text

from cloudcmp.answer.effects import leading
from cloudcmp.model.plan import hourly_cost
from cloudcmp.model.result import Verdict
from cloudcmp.model.untrusted_text import clip, one_line, visible
from cloudcmp.model.view import View
from cloudcmp.report import numbers
from cloudcmp.report.command_lines import show_commands
from cloudcmp.report.money import figures_of
from cloudcmp.report.numbers import known
from cloudcmp.report.report_model import MARKS, STYLES, CellView, StudyView
from cloudcmp.report.sheets import advertised, offers, scaling
from cloudcmp.report.sheets.candidates import no_price
from cloudcmp.report.sheets.outcomes import warnings
from cloudcmp.report.sheets.verdicts import standing_words
from cloudcmp.report.table import WIDEST, Head, ascii_only, put, say, table
from cloudcmp.report.text import plain_ascii, short_names
from cloudcmp.report.words import direction, group_words

_MOST_COLUMNS, _LEAST_COLUMN = 4, 14
_MOST_WARNINGS = 8

Exploratory = Literal["hidden", "brief", "full"]


@dataclass(frozen=True, slots=True)
class _Screen:
    """The output of the comparison: the console, its whole and its usable width, whether it shows only ASCII, and the
    names of the candidates on it."""

    console: Console
    whole: int
    ascii: bool
    width: int
    names: tuple[str, ...]
    label: int
    column: int

    @classmethod
    def of(cls, console: Console, study: StudyView) -> "_Screen":
        width, count = min(console.width, WIDEST), max(1, len(study.candidates))
        column = max(_LEAST_COLUMN, min(18, (width - 24) // count))
        names = _names(study, column - 2)
        return cls(console, console.width, ascii_only(console), width, names, max(10, width - count * column), column)

    @property
    def in_columns(self) -> bool:
        return len(self.names) <= _MOST_COLUMNS and self.label + len(self.names) * self.column <= self.width

    def put(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of styled parts, cut at the terminal's width."""
        line = Text()
        for part in parts:
            text, style = (part, "") if isinstance(part, str) else part
            shown = visible(text)  # of equal length, so that columns stay aligned
            line.append(plain_ascii(shown) if self.ascii else shown, style)
        line.truncate(self.whole, overflow="crop")
        put(self.console, line)


def show(console: Console, view: View, *, exploratory: Exploratory = "hidden") -> None:
    """Print the comparison of a study: the candidates, every deciding cell, warnings, and the answer last.

    Uses at most 100 columns of the console; 80 are enough for up to four candidates side by side. `exploratory` selects
    how much of the cells without a verdict is shown; if no cell decides, they are shown in full.
    """
    study = StudyView.of(view)
    screen = _Screen.of(console, study)
    _heading(screen, study)
    decide = [view for view in study.cells if view.decides]
    mode = exploratory if decide else "full"
    for group, views in study.groups():
        whole = [view for view in views if view.decides or mode == "full"]
        brief = [view for view in views if view not in whole and mode == "brief"]
        if whole or brief:
            _group(screen, study, group_words(group), whole, brief)
    if mode == "hidden" and len(decide) < len(study.cells):
        rest = f"{len(study.cells) - len(decide)} exploratory of {len(study.cells)} cells"
        say(console, f"Not shown: {rest}, which get no verdict; --all shows them.", "dim")
    _scaling(screen, study)
    _advertised(screen, study)
    show_commands(console, [use for use in view.commands if use.free])
    _closing(screen, study)


def _scaling(screen: _Screen, study: StudyView) -> None:
    """Print how fast machines become usable, in two tables; nothing if the study did not measure it."""
    for title, heads, rows, note in scaling.brief(study, screen.names):
        screen.put("")
        table(screen.console, [heads[0], *map(Head, heads[1:])], rows, title=title)
        say(screen.console, note, "dim")


def _advertised(screen: _Screen, study: StudyView) -> None:
    """Print the promised rates with what was delivered of them; nothing if nothing promised was measured."""
    if rows := advertised.brief(study, screen.names):
        screen.put("")
        heads = ("candidate", "promised", Head("delivered"), Head("of it"), "what it says")
        table(screen.console, heads, rows, title=f"{advertised.TITLE} (TCP payload, without headers)")


def _names(study: StudyView, limit: int) -> tuple[str, ...]:
    """Return the names of candidates on the screen: without their common parts, or one letter each."""
    short = study.short
    if max(map(len, short), default=0) <= limit or len(short) > _MOST_COLUMNS:
        return short_names(short, max(limit, 24))
    return tuple("ABCD"[: len(short)])


def _heading(screen: _Screen, study: StudyView) -> None:
    say(screen.console, f"{study.view.plan.name}: {study.view.plan.question}", "bold")
    if study.origin:
        say(screen.console, f"{study.origin}{': planted numbers, not measured' if 'SIMULATED' in study.origin else ''}",
            "bold yellow")  # fmt: skip
    lines = offers.brief(study)
    if lines:
        table(screen.console, ("provider", "offers", "where", "prices of"), lines)
    rows = []
    for name, one in zip(screen.names, study.candidates, strict=True):
        size = [f"{one.offering.vcpus:g} vCPU{'s' if one.offering.vcpus > 1 else ''}" if one.offering.vcpus else "",
                f"{one.offering.memory_gib:.4g} GiB" if one.offering.memory_gib else ""]  # fmt: skip
        cost, price = hourly_cost(one), one.offering.price
        money = "price unknown" if cost is None or price is None else f"{cost.normalize():f} {price.currency}/h"
        rows.append((name, one_line(one.id, 200), ", ".join(filter(None, size)), money))
    if all(row[0] == row[1] for row in rows):
        table(screen.console, ("candidate", "size", Head("price")), [(row[0], *row[2:]) for row in rows])
    else:
        table(screen.console, ("candidate", "in full", "size", Head("price")), rows)
    if len(study.candidates) < 2:
        say(screen.console, "One candidate: nothing to compare it with.")
    else:
        say(screen.console, "▲ better than all others    = practically the same as the best", keep=True)
        say(screen.console, "▼ worse than the best       ? cannot tell yet", keep=True)
    say(screen.console, "low to high: the median's 95 % interval; k/n: trials with a value, of those started", "dim")
    if len(study.candidates) > 1:
        say(screen.console, "(+x %) is paired round by round; it is not the ratio of the medians", "dim")


def _group(screen: _Screen, study: StudyView, group: str, views: Sequence[CellView], brief: Sequence[CellView]) -> None:
    title = f"{group} [{study.origin}]" if study.origin else group
    screen.put("")
    if not screen.in_columns:
        screen.put((clip(title, screen.width), "bold underline"))
        for view in (*views, *brief):
            _rows(screen, study, view)
        return
    long = len(title) >= screen.label
    if long:
        screen.put((clip(title, screen.width), "bold underline"))
    heads = "".join(name.rjust(screen.column) for name in screen.names)
    screen.put(("".ljust(screen.label) if long else title, "bold underline"), (heads.rjust(
        screen.width - (screen.label if long else len(title))), "bold"))  # fmt: skip
    for view in views:
        _columns(screen, study, view)
    if brief:
        screen.put(("Without a verdict:", "dim"))
    for view in brief:
        _brief(screen, view)


def _brief(screen: _Screen, view: CellView) -> None:
    """Print a cell without verdict: a line of values with counts, and its name if it fits."""
    name = f"{view.name}, {view.scale.unit}".rstrip(", ")
    figures = [_value(screen, view, at, None).strip() for at in range(len(screen.names))]
    texts = [f"{figure} {_counts(view, at)}" for at, figure in enumerate(figures)]
    values = "".join(text.rjust(screen.column) for text in texts)
    if len(name) < screen.label:
        screen.put((name.ljust(screen.label), "dim"), values)
    else:
        screen.put((clip(name, screen.width), "dim"))
        screen.put("".ljust(screen.label) + values)


def _columns(screen: _Screen, study: StudyView, view: CellView) -> None:
    """Print a cell with the candidates side by side: values, intervals, costs, then words."""
    marks = view.marks()
    unit = f"  {', '.join(filter(None, (view.scale.unit, direction(view.metric))))}"
    labels = [view.name, unit] if len(view.name) < screen.label else ["  " + unit.strip(), ""]
    if len(view.name) >= screen.label:
        screen.put((clip(view.name, screen.width), "bold"))
    values = [(_value(screen, view, at, marks.get(at)), STYLES.get(marks[at], "") if at in marks else "")
              for at in range(len(screen.names))]  # fmt: skip
    screen.put((clip(labels[0], screen.label - 1).ljust(screen.label), "bold" if labels[1] else "dim"), *values)
    counts = "".join(_interval(view, at).rjust(screen.column) for at in range(len(screen.names)))
    screen.put((clip(labels[1], screen.label - 1).ljust(screen.label) + counts, "dim"))
    costs = figures_of(study, view)
    if costs is not None:
        sums = [costs.scale.number(costs.values.get(at)) for at in range(len(screen.names))]
        shown = "".join(text.rjust(screen.column) for text in sums)
        screen.put((f"  {clip(costs.axis, screen.label - 3)}".ljust(screen.label) + shown, "dim"))
    words = "; ".join(_words(screen, view, marks))
    if words:
        say(screen.console, words, indent=2)


def _value(screen: _Screen, view: CellView, at: int, verdict: Verdict | None) -> str:
    one = view.estimates.get(at)
    if one is None:
        return "not offered".rjust(screen.column)
    star = "*" if view.winner is not None and view.winner.starred == at else ""
    text = view.scale.number(one.median) if known(one.median) else "no value"
    return f"{MARKS[verdict] + ' ' if verdict else ''}{text}{star}".rjust(screen.column)


def _counts(view: CellView, at: int) -> str:
    one = view.estimates.get(at)
    if one is None:
        return numbers.UNKNOWN
    return f"{one.n_ok}/{one.n_started}"


def _interval(view: CellView, at: int) -> str:
    """The median's interval; empty if there is none."""
    one = view.estimates.get(at)
    return "" if one is None or one.median_bounds is None else view.scale.interval(one.median_bounds)


def _words(screen: _Screen, view: CellView, marks: dict[int, Verdict]) -> Iterator[str]:
    """Yield the verdicts of the best against the others in words, the detectable difference, and the launches."""
    leader, names = view.leader, screen.names
    if len(view.estimates) > 1 and not view.decides:
        yield "exploratory: no verdict"
    if marks and leader is not None:
        for verdict in (Verdict.WORSE, Verdict.SAME, Verdict.CANNOT_TELL, Verdict.BETTER):
            lines = [_against(view, leader, at, names[at]) for at in sorted(marks)
                    if at != leader and (view.verdict(at, leader) or Verdict.CANNOT_TELL) is verdict]  # fmt: skip
            if lines:
                yield f"{names[leader]} {_AGAINST[verdict]} {', '.join(lines)}"
        if view.winner is not None and view.winner.starred is not None:
            yield f"* {names[view.winner.starred]} is the cheapest of these"
    elif marks:
        yield "cannot tell yet: no candidate gave values"
    sizes = [one for one in view.of_leader() if known(one.detectable)] if marks else []
    if sizes:
        widest = max(sizes, key=lambda one: one.detectable or 0.0)
        yield f"detectable {numbers.detectable(widest, view.metric.unit)}"
    yield f"n {_each([str(one.n) for one in view.estimates.values()])}"
    yield f"{_each([_counts(view, at) for at in view.estimates])} trials"


def _each(texts: Sequence[str]) -> str:
    """One text that all share, else all of them."""
    return texts[0] if len(set(texts)) == 1 else ", ".join(texts)


_AGAINST = {
    Verdict.WORSE: "better than",
    Verdict.SAME: "practically the same as",
    Verdict.CANNOT_TELL: "undecided against",
    Verdict.BETTER: "worse than",
}


def _against(view: CellView, leader: int, at: int, name: str) -> str:
    pair = view.against(leader, at)
    if pair is None:
        return name
    one, turned = pair
    size = numbers.effect(one, view.metric.unit, turned=turned)
    unsure = one.reason if one.verdict is Verdict.CANNOT_TELL else ""
    inside = "; ".join(filter(None, (size if size != numbers.UNKNOWN else "", one_line(unsure, 120), *one.marks)))
    return f"{name} ({inside})" if inside else name


def _rows(screen: _Screen, study: StudyView, view: CellView) -> None:
    """Print a cell with one line for each candidate, the best first, for candidates that do not fit side by side."""
    unit = ", ".join(filter(None, (view.scale.unit, direction(view.metric))))
    screen.put((clip(f"{view.name} ({unit})", screen.width), "bold"))
    marks, costs = view.marks(), figures_of(study, view)
    width = max(map(len, screen.names))
    ranked = [at for at in dict.fromkeys((*view.standing.ranked, *view.estimates)) if at in view.estimates]
    for at in ranked:
        one = view.estimates[at]
        value = view.scale.number(one.median) if known(one.median) else "no value"
        verdict = marks.get(at)
        text = standing_words(view, at, verdict) if verdict else one.reason
        money = f"{costs.scale.number(costs.values.get(at))} {costs.axis}" if costs and at in costs.values else ""
        head = f"  {MARKS[verdict] if verdict else ' '} {screen.names[at]:{width}} {value:>8}"
        line = f"{head} {_interval(view, at):16} {f'n {one.n}, {one.n_ok}/{one.n_started}':11}"
        style = STYLES.get(verdict, "") if verdict else ""
        if len(line) + len(text) < screen.width:
            screen.put((f"{line} {text}", style))
        else:
            screen.put((line, style))
            say(screen.console, text, style, indent=6)
        if money:
            screen.put((f"{'':{max(0, len(head) - len(money.partition(' ')[0]))}}{money}", "dim"))


def _closing(screen: _Screen, study: StudyView) -> None:
    lines = warnings(study)
    if lines or no_price(study):
        screen.put("")
    shown, left = leading(lines, _MOST_WARNINGS)
    for line in shown:
        say(screen.console, f"warning: {line}", "yellow")
    if left:
        say(screen.console, f"warning: {left} more are in the report", "yellow")
    if no_price(study):
        say(screen.console, no_price(study))
    if study.view.analysis.answer:
        screen.put("")
        screen.put((f"Answer [{study.origin}]" if study.origin else "Answer", "bold"))
    for line in study.view.analysis.answer:
        say(screen.console, line, indent=2)
