"""Prints the answer on one screen: who is best, by how much, how surely, for what money, and what is not settled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from cloudcmp.answer.effects import chance_words, leading
from cloudcmp.answer.outlook import more_rounds
from cloudcmp.answer.words import standings, undecided
from cloudcmp.model.result import Basis, Estimate, Outlook, Verdict
from cloudcmp.model.untrusted_text import clip, one_line, visible
from cloudcmp.model.view import View
from cloudcmp.report import numbers
from cloudcmp.report.command_lines import show_commands
from cloudcmp.report.neighbours import show_neighbours
from cloudcmp.report.numbers import known
from cloudcmp.report.report_model import MARKS, STYLES, CellView, Standing, StudyView
from cloudcmp.report.sheets import isolation
from cloudcmp.report.sheets.outcomes import outcome_counts, warnings
from cloudcmp.report.sheets.summary import conclusions, deciding_of, measured_of, overall_lines, price_words
from cloudcmp.report.table import WIDEST, ascii_only, put, say
from cloudcmp.report.text import clip_middle, plain_ascii, short_names

_MOST_CELLS, _MOST_WARNINGS, _MOST_OPEN = 8, 2, 3
# Candidates that fit side by side, and the width of one.
_MOST_COLUMNS = 4
_MOST_FAILING = 6
_MOST_NOTES = 2
_MOST_CHANGE, _WIDEST_CHANGE = 25, 32
"""The width of the column of changes, and the one that very wide changes may have."""


@dataclass(frozen=True, slots=True)
class _Screen:
    """The console with its usable width, the study, and the names of its candidates on it."""

    console: Console
    width: int
    study: StudyView
    names: tuple[str, ...]
    change: int
    """The width of the column of changes."""
    value: int = 0
    """The length of the longest value."""

    @classmethod
    def of(cls, console: Console, width: int, study: StudyView, views: Sequence[CellView]) -> "_Screen":
        """Make a screen on which the columns are as wide as the values and changes of the cells that are shown."""
        screen = cls(console, width, study, _names(study, width), _MOST_CHANGE)
        shown = [(view, one) for view in views for one in (view.standing, view.money) if one]
        changes = [_change(view, one, _two(screen, one)) for view, one in shown]
        marked = len(screen.names) > 2
        values = [_value(one, at, one.marks(), marked) for _, one in shown for at in range(len(screen.names))]
        head, widest = (max(map(len, texts), default=0) + 2 for texts in ((_change_head(screen),), changes))
        change = max(min(_MOST_CHANGE, head), min(_WIDEST_CHANGE, widest))
        return replace(screen, change=change, value=max(map(len, values), default=0))

    @property
    def in_columns(self) -> bool:
        return len(self.names) <= _MOST_COLUMNS and self.label >= 16

    @property
    def column(self) -> int:
        least = 6 if len(self.names) == 2 else 8  # a mark stands beside each of several values
        return max(least, self.value + 1, max((len(name) for name in self.names), default=0) + 2)

    @property
    def label(self) -> int:
        return self.width - 2 - len(self.names) * self.column - self.change

    def put(self, *parts: tuple[str, str]) -> None:
        """Print one line of styled parts, cut at the width."""
        line = Text()
        for text, style in parts:
            shown = visible(text)
            line.append(plain_ascii(shown) if ascii_only(self.console) else shown, style)
        line.truncate(self.console.width, overflow="crop")
        put(self.console, line)


def show_first(console: Console, view: View, study_words: str = "DIR", *, planted: bool = False) -> None:
    """Print the answer of a study; `study_words` name it in the commands that tell more, quoted for a shell.

    With `planted`, the planted values of simulated candidates stand below the ones that were found.
    """
    study = StudyView.of(view)
    width = min(console.width, WIDEST)
    deciding = deciding_of(study)
    shown_cells = deciding[: None if planted else _MOST_CELLS]
    screen = _Screen.of(console, width, study, shown_cells)
    _heading(screen)
    _answer(screen, deciding)
    show_neighbours(console, width, study)
    notes = _notes(screen, shown_cells)
    open_ = False
    if deciding:
        _table(screen, shown_cells, planted=planted)
        for line in notes:
            say(console, f"! {one_line(line, 300)}", "yellow", indent=2)
        open_ = not conclusions(study) and _not_settled(screen, deciding, study_words)
    show_commands(console, [use for use in view.commands if use.free])
    left = _mind(screen, max(1, _MOST_WARNINGS - len(notes) - open_))
    _rest(screen, len(deciding), left, study_words)


def _names(study: StudyView, width: int) -> tuple[str, ...]:
    short = study.short
    if len(short) > _MOST_COLUMNS:
        return short_names(short, 36)
    return short_names(short, max(12, (width - 2 - _MOST_CHANGE - 24) // max(1, min(len(short), _MOST_COLUMNS)) - 2))


def _heading(screen: _Screen) -> None:
    """Print the question, and a line with the size, outcome and origin of the study."""
    study, plan = screen.study, screen.study.view.plan
    say(screen.console, f"{plan.name}: {plan.question}", "bold")
    parts = [f"{len(plan.candidates)} candidate{'s' * (len(plan.candidates) != 1)}"]
    parts += [f"{plan.rounds} round{'s' * (plan.rounds != 1)}"] if not plan.imported else []
    parts += [outcome_counts(study)]
    if study.origin:
        planted = ": planted numbers, not measured" if "SIMULATED" in study.origin else ""
        screen.put((f"{study.origin}{planted}", "bold yellow"))
    say(screen.console, " | ".join(filter(None, parts)), "dim")
    prices = [price_words(one) for one in plan.candidates]
    if len(plan.candidates) <= _MOST_COLUMNS:
        full = [one_line(one.id, 80) for one in plan.candidates]
        listed = [f"{name}{'' if name == whole else f' ({whole})'}: {price}"
                  for name, whole, price in zip(screen.names, full, prices, strict=True)]  # fmt: skip
        if all(price == "price unknown" for price in prices):
            listed = ["no price is known: nothing is compared for money"]
        say(screen.console, "; ".join(listed), "dim")


def _answer(screen: _Screen, deciding: Sequence[CellView]) -> None:
    say(screen.console, "")
    plan = screen.study.view.plan
    if of_neighbours := isolation.sentence(screen.study):
        _hung(screen, "NEIGHBOURS  ", of_neighbours, "bold")
    if len(plan.candidates) < 2:
        if not of_neighbours:
            say(screen.console, "ANSWER  One candidate: nothing to compare.", "bold")
        say(screen.console, "")
        return
    if not deciding:
        say(screen.console, "ANSWER  No measurement decides: there is no verdict.", "bold")
        return
    names, measured = dict(enumerate(screen.names)), measured_of(screen.study)
    concluded = conclusions(screen.study)
    for at, line in enumerate(concluded):
        _hung(screen, " " * 11 if at else "ANSWER     ", line, "bold")
    for basis, text in overall_lines(screen.study, screen.names):
        _hung(screen, "  (MONEY)  " if basis is Basis.MONEY else "OVERALL    ", text, "bold")
    for word, chosen in (
        ("VERDICTS   " if concluded else "ANSWER     ", [one.standing for one in measured]),
        ("FOR MONEY  ", [one.money for one in measured if one.money]),
    ):
        winners = [(one.winner, undecided(one.winner, one.comparisons)) for one in chosen if one.winner]
        if winners:
            text = f"of {len(winners)} measurement{'s' * (len(winners) > 1)}, {standings(winners, names)}."
            _hung(screen, word, text, "" if concluded else "bold")
    say(screen.console, "")


def _hung(screen: _Screen, word: str, text: str, style: str = "") -> None:
    """Print a paragraph after a word; further lines are indented by the word's width."""
    lines = wrap(one_line(text, 2000), max(20, screen.width - len(word)))
    for at, line in enumerate(lines):
        screen.put((word if at == 0 else " " * len(word), style), (line, style))


def _table(screen: _Screen, views: Sequence[CellView], *, planted: bool) -> None:
    """Print a row for each cell, one more for its work for money, and with `planted` one of what was planted."""
    two = len(screen.names) == 2
    if screen.in_columns:
        heads = "".join(name.rjust(screen.column) for name in screen.names)
        screen.put(
            ("  " + "".ljust(screen.label) + heads, "bold"),
            (clip(_change_head(screen), screen.change - 2).rjust(screen.change), "bold"),
        )
    for view in views:
        unit = view.scale.unit
        _row(screen, f"{view.name}, {unit}" if unit else view.name, view, view.standing)
        if view.money is not None:
            _row(screen, f"  {view.money.scale.unit}", view, view.money)
        if planted:
            _planted_row(screen, view)
    n = sorted({one.n for view in views for one in view.estimates.values()})
    launches = f"n = {n[0]}" if len(n) == 1 else f"n = {n[0]} to {n[-1]}"
    better = "▲ better  ▼ worse" if two else "▲ best  ▼ behind"
    legend = f"  {better}  = same within 3 %  ? undecided; {launches}, 95 % intervals"
    say(screen.console, legend, "dim", keep=True)
    _failures(screen, views)


def _change_head(screen: _Screen) -> str:
    return f"{screen.names[1]} against {screen.names[0]}" if len(screen.names) == 2 else "next against best"


def _failures(screen: _Screen, views: Sequence[CellView]) -> None:
    """Print for each candidate the fewest trials with a value in a shown cell, if any trial gave none."""
    least: dict[int, Estimate] = {}
    for view in views:
        for at, one in view.estimates.items():
            had = least.get(at)
            if had is None or one.n_ok * had.n_started < had.n_ok * one.n_started:
                least[at] = one
    some = [f"{screen.names[at]} {one.n_ok}/{one.n_started}" for at, one in sorted(least.items())
            if one.n_ok < one.n_started]  # fmt: skip
    if some:
        shown, left = leading(some, _MOST_FAILING)
        more = f" and {left} more" if left else ""
        text = f"trials with a value, of those started: {', '.join(shown)}{more}; all others: all"
        say(screen.console, text, "yellow", indent=2)


def _notes(screen: _Screen, views: Sequence[CellView]) -> list[str]:
    """Return what a reader must know of the changes that are marked with `!`, each note once."""
    notes: list[str] = []
    for view in views:
        for standing in (view.standing, view.money):
            two = _two(screen, standing) if standing else None
            notes += standing.notes(*two) if standing and two else ()
    some, left = leading(list(dict.fromkeys(map(screen.study.short_names.within, notes))), _MOST_NOTES)
    return [*some[:-1], f"{some[-1]}; {left} more notes: --all"] if left else list(some)


def _row(screen: _Screen, label: str, view: CellView, standing: Standing) -> None:
    marks = standing.marks()
    two = _two(screen, standing)
    whole = _mark_of_row(screen, standing, marks)
    change = _change(view, standing, two)
    noted = "!" if two and standing.notes(*two) else " "
    if not screen.in_columns:
        _long_row(screen, label, standing, marks, f"{noted} next {change}".lstrip() if change else "", whole)
        return
    places = range(len(screen.names))
    values = [_value(standing, at, marks, len(screen.names) > 2).rjust(screen.column) for at in places]
    styles = [STYLES.get(marks[at], "") if at in marks else "" for at in places]
    mark = (
        f"{MARKS[whole] if whole and len(screen.names) == 2 else ' '}{noted}",
        STYLES.get(whole, "") if whole else "",
    )
    cells = list(zip(values, styles, strict=True))
    if len(label) >= screen.label:
        screen.put(mark, (clip(label, screen.width - 2), ""))
        mark, label = ("  ", ""), ""
    beside = change if len(change) < screen.change else ""  # a wider one has a line of its own
    screen.put(mark, (label.ljust(screen.label), ""), *cells, (beside.rjust(screen.change), ""))
    if change != beside:
        screen.put((change.rjust(screen.width), ""))


def _planted_row(screen: _Screen, view: CellView) -> None:
    """Print the planted values of a cell, and the planted change between the two candidates of its row."""
    means = {one.index: dict(one.truth.cells)[view.cell].mean for one in screen.study.candidates
             if one.truth is not None and view.cell in dict(one.truth.cells)}  # fmt: skip
    two = _two(screen, view.standing)
    if two is None or not means.keys() >= set(two):
        return
    first, other = two
    effect = means[first] - means[other] if view.metric.signed else means[first] / means[other]
    pair = view.against(first, other)
    change = "" if pair is None else numbers.plain_change(effect, view.metric.unit, signed_=view.metric.signed)
    if not screen.in_columns:
        screen.put((f"    planted: {change}", "dim"))
        return
    shown = [view.scale.number(means.get(at)).rjust(screen.column) for at in range(len(screen.names))]
    screen.put(
        (f"    {'planted'.ljust(screen.label - 2)}{''.join(shown)}", "dim"), (change.rjust(screen.change), "dim")
    )


def _long_row(
    screen: _Screen, label: str, standing: Standing, marks: dict[int, Verdict], change: str, whole: Verdict | None
) -> None:
    """Print the best of many candidates and how many stand where."""
    leader = standing.leader
    screen.put((f"{MARKS[whole] if whole else ' '} ", STYLES.get(whole, "") if whole else ""),
               (clip(label, screen.width - 2), "bold" if not label.startswith(" ") else ""))  # fmt: skip
    if leader is None:
        screen.put(("    no candidate gave values", ""))
        return
    counts = {verdict: sum(one is verdict for at, one in marks.items() if at != leader) for verdict in Verdict}
    rest = [f"{counts[verdict]} {words}" for verdict, words in (
        (Verdict.SAME, "practically the same"), (Verdict.WORSE, "behind"), (Verdict.CANNOT_TELL, "undecided"),
    ) if counts[verdict]]  # fmt: skip
    number = standing.scale.number(standing.values.get(leader))  # a name may be cut, a number may not
    best = f"    {clip_middle(screen.names[leader], max(12, 39 - len(number)))} {number}  {change}"
    others = "; ".join(rest)
    if others and len(best) + 4 + len(others) <= screen.width:
        best, others = f"{best}    {others}", ""
    screen.put((best, ""))
    if others:
        screen.put((f"    {others}", "dim"))


def _two(screen: _Screen, standing: Standing) -> tuple[int, int] | None:
    """Return the two candidates whose difference a row shows: the second of two, else the next, against the best."""
    if len(screen.names) == 2:
        return (1, 0) if 0 in standing.values and 1 in standing.values else None
    two = standing.best_and_next()
    return None if two is None else (two[1], two[0])


def _mark_of_row(screen: _Screen, standing: Standing, marks: dict[int, Verdict]) -> Verdict | None:
    if not marks:
        return None
    if len(screen.names) == 2:
        return standing.verdict(1, 0) or Verdict.CANNOT_TELL
    return marks.get(standing.leader) if standing.leader is not None else Verdict.CANNOT_TELL


def _value(standing: Standing, at: int, marks: dict[int, Verdict], marked: bool) -> str:
    if at not in standing.values:
        return "–"
    value = standing.values[at]
    text = standing.scale.number(value) if known(value) else "none"
    star = "*" if standing.winner is not None and standing.winner.starred == at else ""
    return f"{MARKS[marks[at]] + ' ' if marked and at in marks else ''}{text}{star}"


def _change(view: CellView, standing: Standing, two: tuple[int, int] | None) -> str:
    pair = standing.against(*two) if two else None
    return "" if pair is None else numbers.change(*pair, view.metric.unit)


def _not_settled(screen: _Screen, deciding: Sequence[CellView], folder: str) -> bool:
    """Print which cells are undecided and what would settle them; return whether any is."""
    plan = screen.study.view.plan
    lines, outlooks = [], []
    for view in deciding:
        open_ = [
            one for one in (view.standing, view.money) if one and one.winner and undecided(one.winner, one.comparisons)
        ]
        if not open_:
            continue
        own = [one.outlook for one in open_ if one.outlook]
        outlooks += own
        why = "" if own else screen.study.short_names.within(_why(view.standing))
        lines.append(f"{view.name}{' (money)' if view.standing not in open_ else ''}{why}")
    if not lines:
        return False
    say(screen.console, "")
    shown, left = leading(lines, _MOST_OPEN)
    _hung(screen, "NOT SETTLED  ", f"{'; '.join(shown)}{f'; and {left} more' if left else ''}")
    command = ""
    if not_run := screen.study.view.not_run:
        say(screen.console, f"{not_run} trials of the plan were not run yet; run them first:", indent=2)
        command = f"cloudcmp run --resume {folder}"
    elif outlooks:
        rounds, text = _offer(outlooks, len(lines))
        say(screen.console, f"{more_rounds(plan, rounds)} {text}{'' if plan.imported else ':'}", indent=2)
        command = "" if plan.imported else f"cloudcmp run --resume {folder} --more {rounds}"
    if command:
        say(screen.console, command, indent=2 if len(command) + 2 <= screen.width else 0)
    return True


def _why(standing: Standing) -> str:
    two = standing.ranked[:2]
    reason = standing.comparisons.reason(*two) if len(two) == 2 else ""
    return f" ({one_line(reason, 80)})" if reason else ""


def _offer(outlooks: Sequence[Outlook], open_: int) -> tuple[int, str]:
    """Return the fewest rounds that probably settle one of the open cells, and what they would do."""
    first = min(outlooks, key=lambda one: one.rounds)
    if first.chance is None:
        return first.rounds, "are the fewest that a verdict needs"
    what = "it" if open_ == 1 else "the first" if first.rounds == outlooks[0].rounds else "one"
    return first.rounds, f"would settle {what} (chance {chance_words(first.chance)})"


def _mind(screen: _Screen, most: int) -> int:
    """Print the first warnings; return how many are left."""
    lines = warnings(screen.study)
    if not lines:
        return 0
    say(screen.console, "")
    shown, left = leading(lines, most)
    for at, line in enumerate(shown):
        screen.put((f"{'MIND' if not at else '':6}{clip(one_line(line, 400), screen.width - 6)}", "yellow"))
    return left


def _rest(screen: _Screen, deciding: int, warnings_left: int, folder: str) -> None:
    """Print the command that tells what is not shown, and how much that is."""
    more = len(screen.study.cells) - min(deciding, _MOST_CELLS)
    parts = [f"{more} more measurement{'s' * (more > 1)}"] if more else []
    parts += ["every pair", f"{warnings_left} more warnings" if warnings_left else "all figures"]
    what = ", ".join(parts).capitalize()
    command = f"cloudcmp compare {folder} --all"
    if len(what) + 2 + len(command) <= screen.width:
        say(screen.console, f"{what}: {command}", "dim")
        return
    say(screen.console, f"{what}:", "dim")
    say(screen.console, command, "dim")
