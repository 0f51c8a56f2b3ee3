"""Follows candidates over time, through one or more studies and tables."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudcmp import analysis
from cloudcmp.analysis.facts import facts_of_a_table, launch_facts
from cloudcmp.app.compare import is_named
from cloudcmp.app.several import agreed_metrics, folders_of
from cloudcmp.app.study_view import metrics_of, pseudonyms
from cloudcmp.app.tool_files import ImportOptions, is_table, parse_file
from cloudcmp.catalog import METRICS, hint
from cloudcmp.catalog.application_classes import CLASSES, ClassNeed
from cloudcmp.errors import UserMistake
from cloudcmp.model.history import By, Facts, History, LaterChange, Outdated, Readings, Source, Track
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.offering import Offering, Volume
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.values import LARGEST_VALUE
from cloudcmp.report.anonymity import SIMULATED
from cloudcmp.report.redaction import Pseudonyms
from cloudcmp.store import StudyStore
from cloudcmp.store.tidy_check import read_tidy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cloudcmp.store.tidy_agree import TidyTable

_VERB = "cloudcmp history"
DAY_S = 86400.0
OLD_S = 90 * DAY_S
"""The age from which an answer counts as old: in a year of daily measurements of rented machines, changes of level are
about that far apart (METHODOLOGY.md, over time)."""
FEWEST_POINTS = 10


@dataclass(frozen=True, slots=True)
class _Part:
    """One source: its description, values and metrics, its candidates by name, and its pseudonyms."""

    source: Source
    readings: Readings
    metrics: Mapping[str, Metric]
    candidates: Mapping[str, Candidate]
    hidden: Pseudonyms | None = None

    @property
    def providers(self) -> dict[str, str]:
        """The provider of each candidate by name."""
        return {name: one.offering.provider for name, one in self.candidates.items()}


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
    parts, repeats = _each_once(_parts(sources))
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


def _hidden(tracks: Sequence[Track], parts: Sequence[_Part]) -> tuple[Track, ...]:
    """The tracks with pseudonyms for addresses and ids in names: those of the first study that has the candidate."""
    names: dict[str, str] = {}
    for part in parts:
        for name in part.providers:
            names.setdefault(name, part.hidden.text(name) if part.hidden else name)
    return tuple(replace(one, candidate=names[one.candidate]) for one in tracks)


def _candidates(parts: Sequence[_Part]) -> list[Candidate]:
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


def _parts(sources: Sequence[str]) -> list[_Part]:
    options = ImportOptions()
    found = []
    for text in sources:
        path = Path(text)
        if not path.is_dir() and parse_file(text).path.is_file() and is_table([parse_file(text)], options):
            found.append(_of_table(read_tidy(path, METRICS)))
            continue
        with folders_of([text], options) as folders:
            found.append(_of_study(folders[0]))
    return found


def _each_once(parts: Sequence[_Part]) -> tuple[list[_Part], list[str]]:
    """The sources without launches that another one holds too, and a line for each that had some.

    Of a study and its own table the study keeps them: it knows more of its launches.
    """
    order = sorted(range(len(parts)), key=lambda at: parts[at].source.imported)
    kept: dict[int, _Part] = {}
    notes: dict[int, str] = {}
    for at in order:
        part = parts[at]
        for other in kept.values():
            repeated = analysis.launches_in_common(other.readings, part.readings)
            if repeated.any():
                part = replace(part, readings=analysis.without_launches(part.readings, repeated))
                notes[at] = (f"{part.source.name}: {int(repeated.sum())} of its launches are those of "
                             f"{other.source.name}: each counts once")  # fmt: skip
        kept[at] = part
    return [kept[at] for at in range(len(parts))], [notes[at] for at in sorted(notes)]


def _of_study(folder: Path) -> _Part:
    """A study's values: one for each launch and cell, or all rows of an imported table."""
    with StudyStore.open(folder, write=False) as store:
        plan, metrics, hidden = store.plan, metrics_of(store), pseudonyms(store)
        names = _names(plan)
        readings = _imported(store, names) if plan.imported else _measured(store, metrics, names)
        simulated = bool(plan.candidates) and all(one.simulated for one in plan.candidates)
        cost = plan.quote.with_terms or plan.quote.expected_cost
        source = Source(folder.resolve().name, cost, simulated, plan.imported)
    return _Part(source, readings, metrics, dict(zip(names, plan.candidates, strict=True)), hidden)


def _names(plan: Plan) -> list[str]:
    """The names of candidates, which are the same in a study and in a table of its values."""
    if not plan.imported:
        return [one.id for one in plan.candidates]
    return [
        _name(
            (one.offering.provider, one.offering.region, one.offering.name),
            str(one.volume or ""),
            one.count,
            one.runner,
        )
        for one in plan.candidates
    ]


def _name(key: tuple[str, str, str], volume: str, count: int, runner: str) -> str:
    """The name of an offering with a volume, or several of it, as studies name candidates."""
    text = "/".join(filter(None, key))
    text += f"+{volume}" if volume else ""
    text += f" x{count}" if count > 1 else ""
    return f"{text} on {runner}" if runner not in {"", key[0]} else text


def _measured(store: StudyStore, metrics: Mapping[str, Metric], names: Sequence[str]) -> Readings:
    """The launch values of a measured study, at the times at which the launches began."""
    import numpy as np

    plan, attempts = store.plan, store.attempts()
    totals = frozenset(name for name, metric in metrics.items() if metric.reduce is Reduce.TOTAL)
    measured = store.measured(totals)
    begun = {one.launch: one.begun_at for one in store.launches()}
    place: dict[tuple[int, str | None, int | None], int] = {
        (launch.candidate, launch.session, launch.round): launch.index for launch in plan.launches
    }
    keys: list[tuple[str, str]] = []
    rows: list[tuple[int, int, float, float]] = []
    for one in analysis.estimate(plan, measured.values, measured.histograms, metrics):
        for value, round_, session in zip(one.values, one.rounds, one.sessions, strict=True):
            launch = place[one.candidate, session, round_]
            at = begun.get(launch, plan.start_at + plan.launches[launch].start_s)
            rows.append((len(keys), launch, at, value))
        keys.append((names[one.candidate], one.cell))
    series, launches, times, values = np.array(rows, np.float64).reshape(-1, 4).T
    facts = launch_facts(plan, attempts)
    sessions = tuple(launch.session for launch in plan.launches)
    return Readings(tuple(keys), series.astype(np.int32), launches.astype(np.int32), times, values, facts, sessions)


def _imported(store: StudyStore, names: Sequence[str]) -> Readings:
    """The rows of an imported table."""
    import numpy as np

    plan, rows = store.plan, store.imported_rows()
    owner = np.array([launch.candidate for launch in plan.launches], np.int32)
    own = [facts_of_a_table(dict(one.offering.attributes)) for one in plan.candidates]
    facts = tuple(own[launch.candidate] for launch in plan.launches)
    return _readings(
        names,
        rows.cells,
        owner[rows.launch],
        (rows.launch, rows.cell, rows.time, rows.value),
        facts,
        tuple(launch.session for launch in plan.launches),
    )


def _of_table(table: "TidyTable") -> _Part:
    """The rows of a table, without making a study of it."""
    import numpy as np

    rows = table.rows
    attributes = [table.attributes.get(key, {}) for key in rows.keys]
    names = [
        _name(key, own.get("volume", ""), int(float(own.get("count") or 1)), own.get("runner", ""))
        for key, own in zip(rows.keys, attributes, strict=True)
    ]
    launch, cell, time_, value = (
        np.concatenate([getattr(chunk, name) for chunk in rows.chunks]) for name in ("launch", "cell", "time", "value")
    )
    launches = rows.launches
    own = [facts_of_a_table(one) for one in attributes]
    facts = tuple(own[key] for key in launches.key.tolist()) if any(own) else ()
    named = [session or None for session in launches.sessions]
    sessions = tuple(named[at] for at in launches.session.tolist()) if any(named) else ()
    readings = _readings(names, rows.cells, launches.key[launch], (launch, cell, time_, value), facts, sessions)
    candidates = {
        name: Candidate(at, name, Offering(*key), own.get("runner") or key[0], _volume(own))
        for at, (name, key, own) in enumerate(zip(names, rows.keys, attributes, strict=True))
    }
    simulated = all(provider == SIMULATED for provider, _, _ in rows.keys)
    return _Part(Source(table.path.name, None, simulated, True), readings, table.metrics, candidates)


def _volume(attributes: Mapping[str, str]) -> Volume | None:
    return Volume(attributes["volume"]) if attributes.get("volume") else None


def _readings(
    names: Sequence[str], cells: Sequence[str], owner: "NDArray[np.integer[Any]]",
    columns: "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]",
    facts: tuple[Facts, ...], sessions: tuple[str | None, ...],
) -> Readings:  # fmt: skip
    """The rows with a value and a time; `columns` are launch, cell, time and value, `owner` the candidate of a row."""
    import numpy as np

    launch, cell, time_, value = columns
    valued = np.abs(value) < LARGEST_VALUE  # false for NaN
    kept = valued & np.isfinite(time_)
    code = owner[kept].astype(np.int64) * len(cells) + cell[kept]
    there, series = np.unique(code, return_inverse=True)
    keys = tuple((names[at // len(cells)], cells[at % len(cells)]) for at in there.tolist())
    missing = int(valued.sum() - kept.sum())
    return Readings(keys, series.astype(np.int32), launch[kept], time_[kept], value[kept], facts, sessions, missing)


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
    parts: Sequence[_Part], sources: Sequence[str], metrics: Sequence[str], provider: str | None
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


def _moment(parts: Sequence[_Part], as_of: float | None) -> float:
    """The time of the question: as given, else now; for simulated numbers alone, that of the last value."""
    if as_of is not None:
        return as_of
    if all(part.source.simulated for part in parts):
        return max(float(part.readings.time.max(initial=0.0)) for part in parts)
    return time.time()


def _dated(part: _Part, at: float) -> Source:
    times = part.readings.time[part.readings.time <= at]
    if not times.size:
        return part.source
    return replace(part.source, first=float(times.min()), last=float(times.max()))


def _outdated(
    number: int, part: _Part, tracks: Sequence[Track], providers: Mapping[str, str], at: float
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


def _notes(parts: Sequence[_Part], tracks: Sequence[Track], by: By) -> tuple[str, ...]:
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
