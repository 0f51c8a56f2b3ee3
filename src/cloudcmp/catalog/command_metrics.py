"""The metrics of a study's own commands."""

from collections.abc import Iterable

from cloudcmp.catalog.tables import METRICS
from cloudcmp.model.cell import Cell
from cloudcmp.model.command import Command, CommandMetric
from cloudcmp.model.metric import Group, Metric, Reduce

COMMAND = "command"
"""The probe that runs commands of the user's own."""


def metrics_with(commands: Iterable[Command]) -> dict[str, Metric]:
    """The table of metrics with those of commands, by name."""
    return METRICS | {one.name: _metric(one) for command in commands for one in command.told}


def command_cells(command: Command) -> tuple[Cell, ...]:
    """The cells that a command gives besides its finishing time."""
    return tuple(Cell.of(one.name, {COMMAND: command.name}) for one in command.told)


def _metric(own: CommandMetric) -> Metric:
    return Metric(
        own.name, own.unit, own.better, Group.COMPUTE, Reduce.MEDIAN, (COMMAND,),
        "A figure that a command tells of itself.", "What the command does not say.", 1.0, own.signed,
    )  # fmt: skip
