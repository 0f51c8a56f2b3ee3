"""Follows candidates over time, through one or more studies and tables."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cloudcmp import analysis
from cloudcmp.app.compare import is_named
from cloudcmp.app.history_sources import HistoryPart, each_once, read_parts
from cloudcmp.app.several import agreed_metrics
from cloudcmp.catalog import hint
from cloudcmp.catalog.application_classes import CLASSES, ClassNeed
from cloudcmp.errors import UserMistake
from cloudcmp.model.history import By, History, LaterChange, Outdated, Readings, Source, Track
from cloudcmp.model.plan import Candidate

if TYPE_CHECKING:
    pass

_VERB = "cloudcmp history"
DAY_S = 86400.0
OLD_S = 90 * DAY_S
"""The age from which an answer counts as old: in a year of daily measurements of rented machines, changes of level are
about that far apart (METHODOLOGY.md, over time)."""
FEWEST_POINTS = 10


def history(
    sources: Sequence[str], *, by: By = By.DAY, metrics: Sequence[str] = (), provider: str | None = None,
    as_of: float | None = None, application: str | None = None, anonymise: bool = False,
) -> History:  # fmt: skip
    """The history of the candidates of studies and tables.

    A source is a study's folder, or a file that `import_files` can read. A candidate is the same in two sources if
    provider, region, offering and all that its name says are the same. `metrics` are metrics or cells, and `provider`
    the only one, if given; `application` is a class of applications, whose needs name further metrics. `as_of` is the
    Unix time of the question, by default now, and for simulated numbers the time of the last value. `anonymise`
    replaces the names of providers, regions and offerings, in the order of the sources.

    Raises UserMistake if a metric has two meanings, nothing is left, no value has a time, or the class is unknown.
    """
    needs = _needs(application)
    metrics = (*metrics, *(one.cell for one in needs))
    parts, repeats = each_once(read_parts(sources))
    known = agreed_metrics(_VERB, [(part.source.name, part.metrics) for part in parts])
    providers = {name: one for part in parts for name, one in part.providers.items()}
    parts = [replace(part, readings=_chosen(part.readings, providers, metrics, provider)) for part in parts]
    _check_anything_left(parts, sources, metrics, provider)
    at = _moment(parts, as_of)
    tracks = analysis.tracks_of([part.readings for part in parts], providers, known, by, at)
    described = tuple(_dated(part, at) for part in parts)
    named = {one.cell.partition(" ")[0] for one in tracks}
    shown = {name: metric for name, metric in known.items() if name in named}
    outdated = tuple(
        one for number, part in enumerate(parts) if (one := _outdated(number, part, tracks, providers, at)) is not None
    )
    found = History(by, at, shown, described, tracks, outdated,
                    (*_class_notes(needs, tracks), *repeats, *_notes(parts, tracks, by)))  # fmt: skip
    if not anonymise:
        return replace(found, tracks=_hidden(tracks, parts))
    from cloudcmp.report.anonymous_answers import anonymous_history

    return anonymous_history(found, _candidates(parts))


def _hidden(tracks: Sequence[Track], parts: Sequence[HistoryPart]) -> tuple[Track, ...]:
    """The tracks with pseudonyms for addresses and ids in names: those of the first study that has the candidate."""
    names: dict[str, str] = {}
    for part in parts:
        for name in part.providers:
            names.setdefault(name, part.hidden.text(name) if part.hidden else name)
    return tuple(replace(one, candidate=names[one.candidate]) for one in tracks)


def _candidates(parts: Sequence[HistoryPart]) -> list[Candidate]:
    """The candidates of all sources, each once, under their names in the history."""
    found: dict[str, Candidate] = {}
    for part in parts:
        for name, one in part.candidates.items():
            found.setdefault(name, replace(one, index=len(found), id=name))
    return list(found.values())


def _needs(application: str | None) -> tuple[ClassNeed, ...]:
    if application is None:
        return ()
    if application not in CLASSES:
        raise UserMistake.at(
            "--class", f"unknown class {application!r}", hint(application, CLASSES, ", ".join(CLASSES))
        )
    return CLASSES[application].needs


def _class_notes(needs: Sequence[ClassNeed], tracks: Sequence[Track]) -> list[str]:
    """The limits of a class of applications, and what was never measured of them."""
    limits = [f"its users want {one.cell} {one.op} {one.limit}: {one.why}" for one in needs]
    missing = [one.cell for one in needs if not any(is_named(track.cell, one.cell) for track in tracks)]
    return [*limits, *([f"nothing was measured of {', '.join(missing)}"] if missing else [])]


def _chosen(readings: Readings, providers: Mapping[str, str], metrics: Sequence[str], provider: str | None) -> Readings:
    """The values of some metrics, and of one provider."""
    import numpy as np

    wanted = [
        (not metrics or any(is_named(cell, metric) for metric in metrics))
        and (provider is None or providers[candidate] == provider)
        for candidate, cell in readings.keys
    ]
    if all(wanted):
        return readings
    place = np.cumsum(wanted) - 1
    kept = np.array(wanted, np.bool_)[readings.series]
    return replace(
        readings,
        keys=tuple(key for key, one in zip(readings.keys, wanted, strict=True) if one),
        series=place[readings.series[kept]].astype(np.int32),
        launch=readings.launch[kept], time=readings.time[kept], value=readings.value[kept],
    )  # fmt: skip


def _check_anything_left(
    parts: Sequence[HistoryPart], sources: Sequence[str], metrics: Sequence[str], provider: str | None
) -> None:
    if any(part.readings.value.size for part in parts):
        return
    if provider is not None:
        known = {one for part in parts for one in part.providers.values()}
        what = f"no value of the provider {provider!r}" + (" in these metrics" if metrics else "")
        raise UserMistake.at("--provider", what, hint(provider, known, "cloudcmp history DIR"))
    if metrics:
        cells = {cell for part in parts for cell in part.metrics}
        raise UserMistake.at("--metric", f"no value of {metrics[0]!r}", hint(metrics[0], cells, "cloudcmp history DIR"))
    lost = sum(part.readings.missing for part in parts)
    what = f"none of {lost} values has a time" if lost else "there is no value yet"
    raise UserMistake.at(sources[0], what, "a history needs a column time, or a study that has run")


def _moment(parts: Sequence[HistoryPart], as_of: float | None) -> float:
    """The time of the question: as given, else now; for simulated numbers alone, that of the last value."""
    if as_of is not None:
        return as_of
    if all(part.source.simulated for part in parts):
        return max(float(part.readings.time.max(initial=0.0)) for part in parts)
    return time.time()


def _dated(part: HistoryPart, at: float) -> Source:
    times = part.readings.time[part.readings.time <= at]
    if not times.size:
        return part.source
    return replace(part.source, first=float(times.min()), last=float(times.max()))


def _outdated(
    number: int, part: HistoryPart, tracks: Sequence[Track], providers: Mapping[str, str], at: float
) -> Outdated | None:
    """Why the answers of a source may no longer hold; None if there is no reason."""
    import numpy as np

    readings = part.readings
    kept = readings.time <= at
    if not kept.any():
        return None
    last = np.full(len(readings.keys), -np.inf)
    np.maximum.at(last, readings.series[kept], readings.time[kept])
    of_place: dict[tuple[str, str], float] = {}
    for (candidate, cell), end in zip(readings.keys, last.tolist(), strict=True):
        place = providers[candidate], cell
        of_place[place] = max(end, of_place.get(place, end))
    later = [
        LaterChange(place, change)
        for place, track in enumerate(tracks)
        for change in track.changes
        if change.at > of_place.get((track.provider, track.cell), np.inf)
    ]
    end = float(last.max())
    if not later and at - end < OLD_S:
        return None
    return Outdated(number, end, at - end, tuple(sorted(later, key=lambda one: one.change.at)))


def _notes(parts: Sequence[HistoryPart], tracks: Sequence[Track], by: By) -> tuple[str, ...]:
    notes = [
        f"{part.source.name}: {part.readings.missing} values without a time are left out"
        for part in parts
        if part.readings.missing
    ]
    short = sum(len(one.values) < FEWEST_POINTS for one in tracks)
    if short:
        advice = "; --by launch gives more points" if by is By.DAY else ""
        notes.append(f"{short} of {len(tracks)} series have fewer than {FEWEST_POINTS} points, "
                     f"in which no change can be found{advice}")  # fmt: skip
    if {part.source.simulated for part in parts} == {True, False}:
        notes.append("simulated and measured numbers are in one history")
    return tuple(notes)
