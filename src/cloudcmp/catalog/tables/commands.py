"""The user's own commands."""

from cloudcmp.catalog.tables.base import compute
from cloudcmp.model.metric import Better, Param, ParamKind, Probe, Reduce, Suite

METRICS = (
    compute("command_time_s", "s", Better.LOWER, Reduce.MEDIAN, ("command",), 1e1,
             "Finishing time of a command, from just before its shell is started until its exit is reaped.",
             "What the command leaves running, which is ended with it; its setup, warm-up and check."),
)  # fmt: skip

PROBES = (
    Probe("command", ("command_time_s",),
          (Param("command", ParamKind.TEXT, "command", "the name that the study gives it, under command:"),),
          "Runs a command of the user's own in an empty folder; what it prints can give further metrics.",
          "How much of the time is the shell's start, and the reading of what is printed.", 30.0,
          no_peer="it runs what the study names"),
)  # fmt: skip

SUITES: tuple[Suite, ...] = ()
