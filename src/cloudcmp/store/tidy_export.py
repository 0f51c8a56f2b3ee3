"""A study's values as rows of the tidy table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.cell import parse_params
from cloudcmp.model.metric import Metric, Reduce
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.promise import as_attributes
from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.store.imported_table import ImportedRows
from cloudcmp.store.study_store import StudyStore
from cloudcmp.store.tidy import COLUMNS, SIGNED, TidyCell, TidyColumns, TidyPlace

NO_ROUNDS = "no_rounds"
NO_TIMES = "no_times"
BLOCKS_ALLOWED = "blocks_allowed"
REPLICATION_UNKNOWN = "replication_unknown"

_Value = tuple[int, str, float | None, Outcome, float | None]
"""Launch, cell, value, outcome and Unix time (s)."""


def export_table(
    store: StudyStore, metrics: Mapping[str, Metric], percentile_values: Mapping[tuple[int, str], float]
) -> TidyColumns:
    """The values of a study, in the order of the plan, one for each trial and cell, including missing values.

    A percentile cell has one row per launch, with the value that `percentile_values` holds for (launch, cell), because
    histograms are merged by the caller. The result is a consistent snapshot only inside `store.consistent`. Attempts
    that the end of the controller interrupted are left out. `metrics` are the catalogue's; those of an imported study
    come from the study. Raises UserMistake for a metric in neither.
    """
    import numpy as np

    known = {**metrics, **store.imported_metrics()}
    rows = store.imported_rows() if store.plan.imported else _columns(_measured(store, known, percentile_values))
    used, place = np.unique(rows.launch, return_inverse=True)
    cells = tuple(_cell(store, known, cell) for cell in rows.cells)
    outcomes = tuple(outcome.value for outcome in rows.outcomes)
    places = _places(store, used.tolist())
    return TidyColumns(places, cells, outcomes, place.astype(np.int32), rows.cell, rows.outcome, rows.value, rows.time)


def _places(store: StudyStore, used: Sequence[int]) -> tuple[TidyPlace, ...]:
    plan = store.plan
    launches = {launch.index: launch for launch in plan.launches}
    offerings = [_offering(plan, candidate) for candidate in plan.candidates]
    no_rounds = store.meta(NO_ROUNDS) is not None
    no_instances = store.meta(REPLICATION_UNKNOWN) is not None
    places = []
    for index in used:
        launch = launches[index]
        provider, region, offering, attributes = offerings[launch.candidate]
        instance, round_ = "" if no_instances else str(index), None if no_rounds else launch.round
        places.append(TidyPlace(provider, region, offering, instance, round_, launch.session or "", attributes))
    return tuple(places)


def _cell(store: StudyStore, known: Mapping[str, Metric], cell: str) -> TidyCell:
    metric = _metric(store, known, cell)
    return TidyCell(
        metric.name, cell.partition(" ")[2], metric.unit, metric.better.value, SIGNED if metric.signed else ""
    )


def _metric(store: StudyStore, known: Mapping[str, Metric], cell: str) -> Metric:
    name = cell.partition(" ")[0]
    if name not in known:
        what = f"holds {name}, a metric that is not known here"
        raise UserMistake(Fault(str(store.folder), what, "use the version that wrote it"))
    return known[name]


def _columns(rows: Iterable[_Value]) -> ImportedRows:
    """Rows of a measured study as columns."""
    import numpy as np

    values = list(rows)
    cells = {cell: at for at, cell in enumerate(dict.fromkeys(cell for _, cell, *_ in values))}
    outcome = {one: at for at, one in enumerate(Outcome)}
    return ImportedRows(
        tuple(cells),
        tuple(outcome),
        np.array([launch for launch, *_ in values], np.int32),
        np.array([cells[cell] for _, cell, *_ in values], np.int32),
        np.array([value for *_, value, _, _ in values], np.float64),
        np.array([outcome[one] for *_, one, _ in values], np.int32),
        np.array([time for *_, time in values], np.float64),
    )


def _measured(
    store: StudyStore, metrics: Mapping[str, Metric], percentile_values: Mapping[tuple[int, str], float]
) -> Iterator[_Value]:
    values = store.measured(frozenset(name for name, metric in metrics.items() if metric.reduce is Reduce.TOTAL)).values
    by_trial = _attempts_with_values(store.attempts())
    started = [(trial, cell) for trial in store.plan.trials if trial.index in by_trial for cell in trial.cells]
    shared: set[tuple[int, str]] = set()
    for (trial, cell), ok, number in zip(started, values.ok.tolist(), values.value.tolist(), strict=True):
        value, metric = number if ok else None, _metric(store, metrics, cell)
        if "percentile" in parse_params(cell.partition(" ")[2]):
            if (trial.launch, cell) in shared:
                continue
            shared.add((trial.launch, cell))
            value = percentile_values.get((trial.launch, cell))
        attempt = by_trial[trial.index]
        if value is None and attempt.outcome is Outcome.OK and metric.sparse:
            continue  # the counted event did not happen
        yield trial.launch, cell, value, _outcome(value, attempt), attempt.started_at


def _attempts_with_values(attempts: tuple[Attempt, ...]) -> dict[int, Attempt]:
    """For each trial the attempt that counts: the first ok one, else the last that ended by itself."""
    by_trial: dict[int, Attempt] = {}
    for attempt in attempts:
        before = by_trial.get(attempt.trial)
        if not attempt.interrupted and (before is None or before.outcome is not Outcome.OK):
            by_trial[attempt.trial] = attempt
    return by_trial


def _outcome(value: float | None, attempt: Attempt) -> Outcome:
    """The outcome of a row; a cell without a value in an ok trial is invalid."""
    if value is not None:
        return Outcome.OK
    return Outcome.INVALID if attempt.outcome is Outcome.OK else attempt.outcome


def _offering(plan: Plan, candidate: Candidate) -> tuple[str, str, str, dict[str, str | float | Decimal]]:
    """Provider, region, a name that is unique among the candidates there, and attributes of the measured offering."""
    offering = candidate.offering
    key = (offering.provider, offering.region, offering.name)
    twins = [twin for twin in plan.candidates if (o := twin.offering) and (o.provider, o.region, o.name) == key]
    attributes: dict[str, str | float | Decimal] = {
        (f"offering_{name}" if name in COLUMNS else name): text
        for name, text in (*as_attributes(offering.promises).items(), *offering.attributes)
    }
    optional = {
        "vcpus": offering.vcpus,
        "memory_gib": offering.memory_gib,
        "category": offering.category,
        "volume": str(candidate.volume) if candidate.volume else None,
        "count": str(candidate.count) if candidate.count != 1 else None,
        "runner": candidate.runner if candidate.runner != offering.provider else None,
    }
    attributes |= {name: value for name, value in optional.items() if value is not None}
    if offering.price is not None:
        attributes[f"price_{offering.price.currency.lower()}_per_hour"] = offering.price.amount_per_hour
    return *key[:2], offering.name if len(twins) == 1 else candidate.id, attributes
