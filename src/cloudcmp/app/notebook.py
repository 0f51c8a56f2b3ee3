"""A study in a notebook or a script: its samples, trials, estimates and comparisons as tables, and its figures."""

from collections.abc import Callable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.model.plan import PlannedTrial
from cloudcmp.store import StudyStore
from cloudcmp.store.frame import Frame

if TYPE_CHECKING:
    from cloudcmp.model.plan import Plan
    from cloudcmp.model.result import Bounds, Comparison, Estimate
    from cloudcmp.model.view import View
    from cloudcmp.report.charts.base import Figure

_PLACE = ("candidate", "launch", "round", "session", "run", "probe")
_ATTEMPT = ("trial", *_PLACE, "params", "outcome", "why", "started_at", "ended_at", "n_samples")
_ESTIMATE = (
    "candidate", "cell", "unit", "better", "n", "n_ok", "n_started", "median", "median_low", "median_high", "mean",
    "mean_low", "mean_high", "p5", "p95", "cov", "cost_per_task", "work_per_money", "reason",
)  # fmt: skip
_COMPARISON = ("cell", "basis", "a", "b", "n", "decides", "by_difference", "effect", "low", "high", "p_paired",
               "p_welch", "p_adjusted", "p_same", "verdict", "reason", "marks")  # fmt: skip


class Study:
    """A study that was measured or imported, opened for reading.

    Tables have one row for each thing and null for what is unknown; times are Unix seconds, values in the unit of their
    metric. Public addresses, account ids and instance ids are pseudonyms, as in a report. What it shows is what was
    stored when a method first needed it: open the folder again to see what a running study has added.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        """Open the study in `folder`; raises UserMistake if there is none, CorruptStore if a file was changed."""
        self.folder = Path(folder)
        with StudyStore.open(self.folder, write=False) as store:
            self.name = store.plan.name
            self.question = store.plan.question

    @property
    def answer(self) -> tuple[str, ...]:
        """The answer in sentences."""
        return self._view.analysis.answer

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know beside the answer."""
        return self._view.warnings

    def trials(self) -> Frame:
        """Return a row for each attempt at a trial that ended by itself; none for an imported study.

        `round` and `run` count from 0; `why` is the reason of an outcome other than `ok`.
        """
        from cloudcmp.app.study_view import pseudonyms

        with StudyStore.open(self.folder, write=False) as store:
            plan, text = store.plan, pseudonyms(store).text
            rows = [
                (one.trial, *_place(plan, plan.trials[one.trial], text), _params(plan.trials[one.trial]),
                 one.outcome.value, text(one.why), one.started_at, one.ended_at, one.n_samples)
                for one in store.attempts()
                if not one.interrupted
            ]  # fmt: skip
        return Frame.of(_ATTEMPT, rows)

    def samples(self) -> Frame:
        """Return a row for each sample that supplies a value; for an imported study, the rows of its table.

        `t_s` counts from the start of the measured phase; `hist` holds an HdrHistogram (V2, base64) in place of a
        value. Samples of failed attempts are left out.
        """
        from cloudcmp.app.export import rows
        from cloudcmp.app.study_view import pseudonyms

        with StudyStore.open(self.folder, write=False) as store:
            plan, text = store.plan, pseudonyms(store).text
            if not plan.imported:
                places = [_place(plan, trial, text) for trial in plan.trials]
                return Frame(store.sample_table()).joined("trial", _PLACE, places)
        records = rows(self.folder)
        return Frame.of(tuple(records[0]) if records else (), [tuple(one.values()) for one in records])

    def estimates(self) -> Frame:
        """Return a row for each candidate and cell: medians and means over launches, with their 95 % intervals."""
        view = self._view
        return Frame.of(_ESTIMATE, [_estimate(view, one) for one in view.analysis.estimates if one.offered])

    def comparisons(self) -> Frame:
        """Return a row for each pair of candidates and cell, by performance and, where prices are known, for money.

        `effect` is a/b, or a - b where `by_difference`, with its 95 % interval `low` to `high`; `p_adjusted` is
        corrected for all questions of the study, and `verdict` is on a against b.
        """
        view = self._view
        names = [one.id for one in view.plan.candidates]
        both = (view.analysis.comparisons, view.analysis.money)
        return Frame.of(_COMPARISON, [_comparison(names, one) for pairs in both for one in pairs])

    def plot(self, cell: str) -> "Figure":
        """Draw the medians of one cell, or of all cells of a metric, with their 5th and 95th percentiles.

        A notebook shows the figure; `.svg` and `.png()` give its files. Raises UserMistake if there is no such cell, or
        no value of it.
        """
        from cloudcmp.app.compare import only
        from cloudcmp.errors import UserMistake
        from cloudcmp.report.charts import bars
        from cloudcmp.report.charts.base import Styles
        from cloudcmp.report.report_model import StudyView

        study = StudyView.of(only(self._view, cell))
        figures = bars.figures(study, Styles.of(study))
        if not figures:
            raise UserMistake.at("plot", f"no candidate has a value of {cell}", "see why in trials()")
        return figures[0]

    @cached_property
    def _view(self) -> "View":
        from cloudcmp.app.study_view import view

        return view(self.folder, drawn=False)

    def __repr__(self) -> str:
        return f"{self.name}: {self.question} ({self.folder})"

    def _repr_html_(self) -> str:
        """The answer: who is best, the deciding measurements, what is not settled, what to mind."""
        from cloudcmp.report.notebook import answer

        return answer(self._view)


def _place(plan: "Plan", trial: PlannedTrial, text: Callable[[str], str]) -> tuple[object, ...]:
    launch = plan.launches[trial.launch]
    name = text(plan.candidates[launch.candidate].id)
    return name, launch.index, launch.round, launch.session, trial.run, trial.probe


def _params(trial: PlannedTrial) -> str:
    return ";".join(f"{name}={value}" for name, value in trial.params)


def _estimate(view: "View", one: "Estimate") -> tuple[object, ...]:
    metric = view.metrics[one.cell.partition(" ")[0]]
    cost = None if one.cost_per_task is None else float(one.cost_per_task.amount)
    return (
        view.plan.candidates[one.candidate].id, one.cell, metric.unit, metric.better.value, one.n, one.n_ok,
        one.n_started, one.median, *_ends(one.median_bounds), one.mean, *_ends(one.mean_bounds), one.p5, one.p95,
        one.cov, cost, one.work_per_money, one.reason,
    )  # fmt: skip


def _comparison(names: Sequence[str], one: "Comparison") -> tuple[object, ...]:
    return (
        one.cell, one.basis.value, names[one.a], names[one.b], one.n, one.decides, one.by_difference, one.effect,
        *_ends(one.bounds), one.p_paired, one.p_welch, one.p_adjusted, one.p_same,
        None if one.verdict is None else one.verdict.value, one.reason, "; ".join(one.marks),
    )  # fmt: skip


def _ends(bounds: "Bounds | None") -> tuple[float | None, float | None]:
    return (None, None) if bounds is None else (bounds.low, bounds.high)
