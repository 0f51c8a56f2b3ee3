"""The sources of a history: what studies and tables hold, each launch once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudcmp import analysis
from cloudcmp.analysis.facts import facts_of_a_table, launch_facts
from cloudcmp.app.several import folders_of
from cloudcmp.app.study_view import metrics_of, pseudonyms
from cloudcmp.app.tool_files import ImportOptions, is_table, parse_file
from cloudcmp.catalog import METRICS
from cloudcmp.model.history import Facts, Readings, Source
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


@dataclass(frozen=True, slots=True)
class HistoryPart:
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


def read_parts(sources: Sequence[str]) -> list[HistoryPart]:
    """Read what each source holds: a study's folder, or a file that can be imported."""
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


def each_once(parts: Sequence[HistoryPart]) -> tuple[list[HistoryPart], list[str]]:
    """The sources without launches that another one holds too, and a line for each that had some.

    Of a study and its own table the study keeps them: it knows more of its launches.
    """
    order = sorted(range(len(parts)), key=lambda at: parts[at].source.imported)
    kept: dict[int, HistoryPart] = {}
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


def _of_study(folder: Path) -> HistoryPart:
    """A study's values: one for each launch and cell, or all rows of an imported table."""
    with StudyStore.open(folder, write=False) as store:
        plan, metrics, hidden = store.plan, metrics_of(store), pseudonyms(store)
        names = _names(plan)
        readings = _imported(store, names) if plan.imported else _measured(store, metrics, names)
        simulated = bool(plan.candidates) and all(one.simulated for one in plan.candidates)
        cost = plan.quote.with_terms or plan.quote.expected_cost
        source = Source(folder.resolve().name, cost, simulated, plan.imported)
    return HistoryPart(source, readings, metrics, dict(zip(names, plan.candidates, strict=True)), hidden)


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


def _of_table(table: "TidyTable") -> HistoryPart:
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
    return HistoryPart(Source(table.path.name, None, simulated, True), readings, table.metrics, candidates)


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
