"""The section of a study's deciding measurements over time: what changed, when and by how much."""

from cloudcmp.model.history import By, History, LevelChange, Track
from cloudcmp.report.history import Names, change_words, date_of, fact_words, metric_of
from cloudcmp.report.numbers import Scale
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.sheet import Column, Sheet, captioned, row

TITLE = "Over time"
_MOST = 40
_NAMED = 3


def sentences(study: StudyView) -> list[str]:
    """The section's first lines: what was followed, and each change with its day and size; empty without a history."""
    history = study.view.history
    if history is None or not history.tracks:
        return []
    first = min(one.times[0] for one in history.tracks)
    last = max(one.level.last for one in history.tracks)
    span = f"from {date_of(first, By.DAY)} to {date_of(last, By.DAY)}, a point {_point(history)}"
    found = _found(history)
    count = len(history.tracks)
    if not found:
        return [f"No change of level was found in {count} series {span}.", *_notes(history)]
    changed = sum(bool(one.changes) for one in history.tracks)
    times = "once" if len(found) == 1 else f"{len(found)} times"
    return [f"The level changed {times}, in {changed} of {count} series {span}: {_named(history)}.", *_notes(history)]


def warnings(study: StudyView) -> list[str]:
    """A line for the reader of the answer if a deciding measurement changed its level meanwhile."""
    history = study.view.history
    if history is None or not _found(history):
        return []
    return [f"the level changed during the study, so that its figures mix two levels: {_named(history)}; see {TITLE}"]


def changes(study: StudyView) -> Sheet | None:
    """The table of changes, the newest first; None without any."""
    history = study.view.history
    found = _found(history) if history is not None else []
    if history is None or not found:
        return None
    names = Names.of(history)
    rows = []
    for change, track in found[:_MOST]:
        metric = metric_of(history, track)
        scale = Scale.of([change.before, change.after], metric.unit)
        rows.append(row(
            f"{'▲' if change.better else '▼'} {date_of(change.at, history.by)}", names.candidates[track.candidate],
            names.cells[track.cell], change_words(change, metric),
            f"{scale.number(change.before)} to {scale.quantity(change.after)}", f"{change.n_before}, {change.n_after}",
            ", ".join(map(fact_words, change.facts)) or "–",
        ))  # fmt: skip
    columns = (
        Column("from"), Column("candidate"), Column("measurement"), Column("change (95 %)", True),
        Column("level", True), Column("points", True), Column("what changed with it"),
    )  # fmt: skip
    left = f" {len(found) - _MOST} earlier changes: cloudcmp history." if len(found) > _MOST else ""
    note = (
        f"▲ better, ▼ worse. Points: of the levels before and after. What changed with it is no proof of a cause.{left}"
    )
    return Sheet(captioned(study.origin, "Changes of level, the newest first"), columns, tuple(rows), note)


def unchanged(study: StudyView) -> str:
    """The title of the figures of series without a change."""
    history = study.view.history
    count = 0 if history is None else sum(not one.changes for one in history.tracks)
    return f"{count} series without a change"


def _found(history: History) -> list[tuple[LevelChange, Track]]:
    """The changes of all series, the newest first."""
    found = [(change, track) for track in history.tracks for change in track.changes]
    return sorted(found, key=lambda pair: -pair[0].at)


def _point(history: History) -> str:
    return "a day (UTC)" if history.by is By.DAY else "a launch"


def _named(history: History) -> str:
    """The newest changes with their days and sizes."""
    names, found = Names.of(history), _found(history)
    parts = [f"{date_of(change.at, By.DAY)} {names.pair(track)} {change_words(change, metric_of(history, track))}"
             for change, track in found[:_NAMED]]  # fmt: skip
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{'; '.join(parts)}{more}"


def _notes(history: History) -> list[str]:
    """What the history says of itself, such as series that are too short to show a change."""
    return [f"{line[:1].upper()}{line[1:]}." for line in history.notes]
