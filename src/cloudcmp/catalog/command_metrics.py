"""The metrics that a study's own commands bring along."""

from collections.abc import Iterable

from cloudcmp.catalog.metrics import METRICS
from cloudcmp.model.cell import Cell
from cloudcmp.model.command import Command, Told
from cloudcmp.model.metric import Group, Metric, Reduce

COMMAND = "command"
"""The probe that runs commands of the user's own."""


def metrics_with(commands: Iterable[Command]) -> dict[str, Metric]:
    """The table of metrics and those that commands tell, by name."""
    return METRICS | {one.name: _metric(one) for command in commands for one in command.told}


def command_cells(command: Command) -> tuple[Cell, ...]:
    """The cells that a command gives beside its finishing time."""
    return tuple(Cell.of(one.name, {COMMAND: command.name}) for one in command.told)


def _metric(told: Told) -> Metric:
    return Metric(
        told.name, told.unit, told.better, Group.COMPUTE, Reduce.MEDIAN, (COMMAND,),
        "A figure that a command tells of itself.", "What the command does not say.", 1.0, told.signed,
    )  # fmt: skip
