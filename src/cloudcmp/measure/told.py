"""Trials whose values a command tells: what the agent is asked, and what is made of the texts that it sends."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cloudcmp.catalog import COMMAND
from cloudcmp.measure.reading import values_of
from cloudcmp.model.cell import Cell
from cloudcmp.model.command import Command
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.tool import Unsure
from cloudcmp.model.trial import Outcome, Sample, TrialResult


@dataclass(frozen=True, slots=True)
class Work:
    """A trial as the agent is asked for it, and the cells of which the agent itself sends samples."""

    asked: PlannedTrial
    cells: tuple[str, ...]
    command: Command


def work_of(trial: PlannedTrial, commands: Sequence[Command]) -> Work | None:
    """What the agent does for a trial of a command; None for every other one."""
    if trial.probe != COMMAND:
        return None
    name = dict(trial.params)[COMMAND]
    own = next(one for one in commands if one.name == name)
    params = {
        COMMAND: own.name,
        "run": own.run,
        "setup": own.setup,
        "warmup": own.warmup,
        "check": own.check,
        "threads": own.threads,
        "limit_s": f"{own.limit_s:g}",
        "setup_limit_s": f"{own.setup_limit_s:g}",
    }
    cells = (f"command_time_s {COMMAND}={own.name}",)
    return Work(replace(trial, params=tuple(params.items())), cells, own)


async def believed(work: Work, trial: PlannedTrial, result: TrialResult, texts: Mapping[str, str]) -> TrialResult:
    """The result with the values that the texts tell, `invalid` where one of the trial's cells is in doubt."""
    result = replace(result, texts=tuple(texts.items()))
    if result.outcome is not Outcome.OK:
        return result
    try:
        told = await _told(work, result, texts.get("stdout", ""))
    except Unsure as doubt:
        return replace(result, outcome=Outcome.INVALID, samples=(), why=str(doubt))
    samples = [*result.samples]
    for cell, value in told.items():
        samples.append(Sample(len(samples), cell.metric, cell.params_text, samples[-1].t_s, value, None))
    given = {f"{one.metric} {one.params}" for one in samples}
    if given != set(trial.cells):
        odd = sorted(given ^ set(trial.cells))[0]
        return replace(result, outcome=Outcome.INVALID, samples=(), why=f"{odd} was not what the trial measures")
    return replace(result, samples=tuple(samples))


async def _told(work: Work, result: TrialResult, stdout: str) -> dict[Cell, float]:
    """The cells that an output tells; raises Unsure."""
    own = work.command
    if own.told:
        _refuse_parts(result)
    values = await values_of(own.told, stdout)
    return {Cell.of(metric, {COMMAND: own.name}): value for metric, value in values.items()}


def _refuse_parts(result: TrialResult) -> None:
    """An output that is not all that was printed says nothing surely."""
    notes = json.loads(result.facts).get("notes", {})
    if notes.get("stdout_cut"):
        raise Unsure("the output is longer than 1 MiB and was cut: print less, or what matters alone")
    if notes.get("stdout_not_utf8"):
        raise Unsure("the output is not UTF-8")
