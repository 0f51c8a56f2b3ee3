"""What a simulated study should find, from what was planted in it."""

from pathlib import Path
from typing import NoReturn

from cloudcmp.app import plan as planning
from cloudcmp.app import run as running
from cloudcmp.app import study_view as viewing
from cloudcmp.catalog import METRICS
from cloudcmp.execute.teardown import RunEnd
from cloudcmp.model.cell import Cell
from cloudcmp.model.metric import Better
from cloudcmp.model.plan import Plan
from cloudcmp.model.result import Comparison, Verdict
from cloudcmp.model.view import View
from cloudcmp.report.progress import Silence

WINNING_GAP = 1.05
"""From which ratio of planted means on a cell has a planted winner; closer ones are ties or near ties."""

_TIED = """\
schema: 1
question: Is one of three equal clouds better?
candidates:
{candidates}
probes:
  - {{probe: fma, params: {{threads: [one, all]}}}}
  - {{probe: rtt, params: {{path: zone}}}}
  - {{probe: udp, params: {{path: zone}}}}
  - {{probe: disk}}
  - {{probe: queue}}
launches: 6
runs: 2
"""
_SAME = "{mean: %r, cov: 5 %%, between: 5 %%}"


def _leave(ending: RunEnd) -> NoReturn:
    raise RuntimeError(f"nobody sent a signal, and yet: {ending.reason}")


def measured(plan: Plan, text: str, folder: Path) -> View:
    """The study, run in a new folder to its end, as a reader sees it."""
    ending = running.start(plan, text, folder, work=None, wait=False, progress=Silence(), leave=_leave)
    assert ending.finished
    assert ending.left == ()
    return viewing.view(folder)


def measured_study(study: str, folder: Path, seed: int | None) -> View:
    """The study of a file with this text, run in the folder to its end, as a reader sees it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "study.yaml"
    file.write_text(study, encoding="utf-8")
    plan, text = planning.plan_file(file, on=None, short=False, seed=seed)
    return measured(plan, text, folder / "study")


def winners(plan: Plan) -> dict[str, int]:
    """The planted winner of each deciding cell that has one."""
    names = {one.cell for one in plan.decide}
    found = {}
    for text in {cell for trial in plan.trials for cell in trial.cells}:
        metric = METRICS[Cell.parse(text).metric]
        if names and not names & {text, metric.name}:
            continue
        means = [dict(one.truth.cells)[text].mean for one in plan.candidates if one.truth is not None]
        order = sorted(range(len(means)), key=means.__getitem__, reverse=metric.better is Better.HIGHER)
        first, second = means[order[0]], means[order[1]]
        if max(first, second) / min(first, second) >= WINNING_GAP:
            found[text] = plan.candidates[order[0]].index
    return found


def missed(seed: int, folder: Path) -> list[str]:
    """The deciding cells of the demo whose planted winner is not named as the only one."""
    plan, text = planning.plan_demo(seed=seed)
    told = {one.cell: one.winners for one in measured(plan, text, folder).analysis.winners}
    planted = winners(plan)
    assert planted
    return [f"{cell}: planted {index}, found {told[cell]}" for cell, index in planted.items() if told[cell] != (index,)]


def false_finds(seed: int, folder: Path) -> list[Comparison]:
    """The comparisons of fully tied clouds that call one better or worse."""
    found = measured_study(_tied_study(), folder, seed).analysis.comparisons
    assert found
    return [one for one in found if one.verdict in {Verdict.BETTER, Verdict.WORSE}]


def _tied_study() -> str:
    metrics = ("fma_flop_per_s", "rtt_s", "udp_bytes_per_s", "udp_loss_ratio", "udp_jitter_s", "disk_op_per_s",
               "disk_bytes_per_s", "disk_latency_s", "queue_latency_s", "queue_op_per_s", "queue_throttled_ratio",
               "queue_failed_ratio")  # fmt: skip
    lines = []
    for region in ("nimbus", "stratus", "cumulus"):
        lines.append(f"  - provider: simulated\n    region: {region}\n    offering: small\n    truth:\n      cells:")
        lines.extend(f"        {name}: {_SAME % METRICS[name].typical}" for name in metrics)
    return _TIED.format(candidates="\n".join(lines))
