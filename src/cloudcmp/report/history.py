"""Prints candidates over time: their changes, their newest levels, and which answers are old."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console

from cloudcmp.answer.effects import leading
from cloudcmp.model.history import By, FactChange, History, LevelChange, Outdated, Track
from cloudcmp.model.metric import Metric
from cloudcmp.model.result import Bounds
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report import numbers
from cloudcmp.report.numbers import Scale
from cloudcmp.report.table import Head, say, table
from cloudcmp.report.text import short_names, without_common
from cloudcmp.report.words import CellNames
from cloudcmp.units import format_money

_DAY_S = 86400.0
_MOST_CHANGES, _MOST_LEVELS, _MOST_LATER = 20, 20, 3


@dataclass(frozen=True, slots=True)
class Names:
    """The short names of the candidates and cells of a history."""

    candidates: dict[str, str]
    cells: dict[str, str]

    @classmethod
    def of(cls, history: History) -> "Names":
        """Shorten the names, of candidates by the parts that all share."""
        whole = list(dict.fromkeys(one.candidate for one in history.tracks))
        cells = CellNames(one.cell for one in history.tracks)
        short = {one.cell: cells.short(one.cell) for one in history.tracks}
        own = without_common(whole) if len(whole) > 1 else [one.rpartition("/")[2] for one in whole]
        return cls(dict(zip(whole, short_names(own, 28), strict=True)), short)

    def pair(self, track: Track) -> str:
        """A track's candidate and cell."""
        return f"{self.candidates[track.candidate]}, {self.cells[track.cell]}"


def metric_of(history: History, track: Track) -> Metric:
    """The metric of a track."""
    return history.metrics[track.cell.partition(" ")[0]]


def show_history(console: Console, history: History) -> None:
    """Print a history: what it holds, the changes, the newest levels, and the answers that may no longer hold."""
    names = Names.of(history)
    _heading(console, history)
    _changes(console, history, names)
    _levels(console, history, names)
    _sessions(console, history, names)
    for line in outdated_lines(history, names):
        say(console, f"! {line}", "yellow")
    for line in history.notes:
        say(console, line, "dim")


def date_of(at: float, by: By) -> str:
    """A time as its day, or with the minute if each launch is a point."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d" if by is By.DAY else "%Y-%m-%d %H:%M")


def change_words(change: LevelChange, metric: Metric) -> str:
    """The size of a change with its 95 % interval."""
    return _size_words(change.change, change.bounds, metric, by_difference=change.by_difference)


def _size_words(size: float, bounds: Bounds, metric: Metric, *, by_difference: bool) -> str:
    sizes = (size, bounds.low, bounds.high)
    if by_difference:
        return "{} ({} to {})".format(*(numbers.signed(one, metric.unit) for one in sizes))
    digits = 0 if max(map(abs, sizes)) >= 0.1 else 1
    texts = [f"{one * 100:+.{digits}f}" for one in sizes]
    return f"{texts[0]} % ({texts[1]} to {texts[2]})"


def outdated_lines(history: History, names: Names) -> list[str]:
    """A sentence for each source whose answers may no longer hold."""
    return [_outdated(history, one, names) for one in history.outdated]


def _outdated(history: History, one: Outdated, names: Names) -> str:
    source = history.sources[one.source]
    days = f"{one.age_s / _DAY_S:.0f} days ago"
    if one.later:
        newest = one.later[::-1]
        shown, left = leading(newest, _MOST_LATER)
        parts = []
        for later in shown:
            track = history.tracks[later.track]
            size = change_words(later.change, metric_of(history, track)).partition(" (")[0]
            parts.append(f"{date_of(later.change.at, history.by)} ({names.pair(track)}: {size})")
        more = f" and {left} more" if left else ""
        changes = "change" if len(newest) == 1 else "changes"
        why = f"measured before the {changes} of {', '.join(parts)}{more}"
    else:
        why = f"measured {days}"
    last = f"{source.name} (last value {date_of(one.last, By.DAY)}, {days})" if one.later else source.name
    again = "measuring it again has no known cost: a table has no plan"
    if not source.imported:
        cost = format_money(source.cost) if source.cost else "an unknown sum: a price is missing"
        again = f"running it again costs {cost}"
    return f"{one_line(last, 120)}: {why}; {again}"


def _heading(console: Console, history: History) -> None:
    candidates = {one.candidate for one in history.tracks}
    count = len(history.sources)
    what = f"{count} source{'s' * (count > 1)}" if count > 1 else one_line(history.sources[0].name, 60)
    tracks = len(history.tracks)
    say(console, f"{what}: {len(candidates)} candidate{'s' * (len(candidates) > 1)} over time, "
                 f"{tracks} series, a point {'a day' if history.by is By.DAY else 'a launch'}", "bold")  # fmt: skip
    if any(one.simulated for one in history.sources):
        say(console, "SIMULATED: planted numbers, not measured", "bold yellow")
    first = min(one.times[0] for one in history.tracks)
    last = max(one.level.last for one in history.tracks)
    say(console, f"{date_of(first, By.DAY)} to {date_of(last, By.DAY)}; ages as of {date_of(history.as_of, By.DAY)}; "
                 "days are UTC", "dim")  # fmt: skip
    say(console, "")


def _changes(console: Console, history: History, names: Names) -> None:
    found = [(change, track) for track in history.tracks for change in track.changes]
    if not found:
        say(console, f"CHANGES  none was found in {len(history.tracks)} series.", "bold")
        say(console, "")
        return
    better = sum(change.better for change, _ in found)
    say(console, f"CHANGES  {len(found)} in {len(history.tracks)} series: {better} for the better, "
                 f"{len(found) - better} for the worse.", "bold")  # fmt: skip
    rows = []
    newest = sorted(found, key=lambda pair: -pair[0].at)
    for change, track in newest[:_MOST_CHANGES]:
        metric = metric_of(history, track)
        scale = Scale.of([change.before, change.after], metric.unit)
        levels = f"{scale.number(change.before)} to {scale.quantity(change.after)}"
        rows.append((f"{'▲' if change.better else '▼'} {date_of(change.at, history.by)}",
                     names.candidates[track.candidate], names.cells[track.cell], change_words(change, metric), levels,
                     f"{change.n_before}, {change.n_after}"))  # fmt: skip
    heads = (Head("  from", numeric=False, whole=True), "candidate", "measurement", "change (95 %)", "level",
             Head("points"))  # fmt: skip
    left = len(found) - len(rows)
    note = "▲ better  ▼ worse; points of the levels before and after"
    table(console, heads, rows, note=f"{note}; {left} earlier changes: --json" if left else note)
    for line in _facts(newest, names):
        say(console, line, indent=2)
    say(console, "")


def _facts(found: Sequence[tuple[LevelChange, Track]], names: Names) -> list[str]:
    """A line for each change that facts of the launches changed with; at most as many as changes are shown."""
    return [
        f"{date_of(change.at, By.DAY)}, {names.pair(track)}: with {', '.join(map(fact_words, change.facts))}"
        for change, track in found[:_MOST_CHANGES]
        if change.facts
    ]


def fact_words(one: FactChange) -> str:
    """A changed fact in words."""
    return f"{one.fact.replace('_', ' ')} {one_line(one.before, 60)} to {one_line(one.after, 60)}"


def _levels(console: Console, history: History, names: Names) -> None:
    say(console, "EXPECTED NOW  the median of the points since the last change", "bold")
    rows = []
    for track in history.tracks[:_MOST_LEVELS]:
        level, unit = track.level, metric_of(history, track).unit
        scale = Scale.of([level.value], unit)
        n = f"{level.points} of {level.launches}" if history.by is By.DAY else str(level.launches)
        rows.append((names.candidates[track.candidate], names.cells[track.cell], scale.quantity(level.value),
                     scale.interval(level.bounds), n, f"{level.age_s / _DAY_S:.0f} d"))  # fmt: skip
    left = len(history.tracks) - len(rows)
    note = "n: days of launches" if history.by is By.DAY else "n: launches"
    note += f"; {left} more series: --metric, --provider, or --json" if left else ""
    table(console, ("candidate", "measurement", Head("value"), Head("95 %"), Head("n"), Head("age")), rows, note=note)


def _sessions(console: Console, history: History, names: Names) -> None:
    """Print the sessions that differ from the others, and how many do not."""
    found = [(one, track) for track in history.tracks for one in track.sessions]
    if not found:
        return
    apart = [(one, track) for one, track in found if not one.bounds.low <= 0.0 <= one.bounds.high]
    say(console, "")
    chance = f"; by chance, about {0.05 * len(found):.0f} would" if len(found) >= 10 else ""
    say(console, f"SESSIONS  {len(apart) or 'none'} of {len(found)} differ from the other launches{chance}", "bold")
    largest = sorted(apart, key=lambda pair: -abs(pair[0].effect))[:_MOST_LEVELS]
    rows = [
        (one.session, names.candidates[track.candidate], names.cells[track.cell],
         _size_words(one.effect, one.bounds, metric_of(history, track), by_difference=one.by_difference),
         f"{one.n}, {one.n_others}")
        for one, track in largest
    ]  # fmt: skip
    if rows:
        heads = ("session", "candidate", "measurement", Head("difference (95 %)"), Head("n (in, others)"))
        table(console, heads, rows)
