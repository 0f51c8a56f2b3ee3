"""hyperfine (David Peter): the time of each run of a command, from its JSON, or the means in its CSV; import only."""

import csv
import math
from collections.abc import Iterator
from typing import Any

from cloudcmp.model.tool import Measure, Reader, Report, UnclearOutput
from cloudcmp.tools.base import TIME, reading
from cloudcmp.tools.page import above_zero, distinct, documents, entry, follows, positive, shown, word

_COLUMNS = ("command", "mean", "stddev", "median", "user", "system", "min", "max")
_HEAD = ",".join(_COLUMNS)
_PARAMETER = "parameter_"
_TIME = Measure("time", TIME)


def _is_csv(text: str) -> bool:
    return text.startswith(_HEAD) and text[len(_HEAD) : len(_HEAD) + 1] in {"", "\r", "\n", ","}


def _is_json(text: str) -> bool:
    begins = text.lstrip()[:1] in {"{", "["}
    return begins and '"results"' in text and '"command"' in text and ('"times"' in text or '"time_wall_clock"' in text)


def _reports(text: str) -> tuple[Report, ...]:
    return tuple(_of_csv(text)) if _is_csv(text) else tuple(_of_json(text))


def _of_json(text: str) -> Iterator[Report]:
    for output in documents(text):
        results = entry(output, "results")
        if not isinstance(results, list) or not results:
            raise UnclearOutput("results: the output tells of no command")
        for i, result in enumerate(results):
            yield from _runs(result, f"results.{i}")


def _runs(result: Any, where: str) -> Iterator[Report]:
    """A report of each run of a command; one that ended with another exit code than 0 has failed."""
    settings = _settings(str(entry(result, "name" if _has_name(result) else "command")), result.get("parameters"))
    runs = _of_version_2(result, where) if "measurements" in result else _of_version_1(result, where)
    for seconds, code in runs:
        if code == 0:
            yield Report("hyperfine", "", settings, (reading("time", TIME, seconds),))
        else:
            yield Report("hyperfine", "", settings, (), failed=(_TIME,))


def _has_name(result: Any) -> bool:
    """True if a result has a name beside its command, as version 2 writes them."""
    return isinstance(result, dict) and isinstance(result.get("name"), str)


def _of_version_1(result: Any, where: str) -> list[tuple[float, object]]:
    times = entry(result, "times")
    if not isinstance(times, list) or not times:
        raise UnclearOutput(f"{where}.times: the output tells of no run")
    seconds = [positive(times, i) for i in range(len(times))]
    follows(positive(result, "mean"), math.fsum(seconds) / len(seconds), 1e-6, f"{where}.mean")
    # Before version 1.12 there were no exit codes: a run that failed ended hyperfine, unless failures were ignored.
    codes = result.get("exit_codes", [0] * len(times))
    if not isinstance(codes, list) or len(codes) != len(times):
        raise UnclearOutput(f"{where}: there is not one exit code for each of {len(times)} times")
    return list(zip(seconds, codes, strict=True))


def _of_version_2(result: Any, where: str) -> list[tuple[float, object]]:
    runs = entry(result, "measurements")
    if not isinstance(runs, list) or not runs:
        raise UnclearOutput(f"{where}.measurements: the output tells of no run")
    found = []
    for i, run in enumerate(runs):
        if entry(run, "time_wall_clock", "unit") != "second":
            raise UnclearOutput(f"{where}.measurements.{i}: the unit of time_wall_clock is not second")
        found.append((positive(run, "time_wall_clock", "value"), entry(run, "exit_code")))
    return found


def _settings(command: str, parameters: object) -> dict[str, str]:
    """The command, and the values of its parameters. Two commands that differ never become one word."""
    settings = {"command": distinct(command)}
    if isinstance(parameters, dict):
        settings |= {_PARAMETER + word(key): distinct(str(value)) for key, value in parameters.items()}
    return settings


def _of_csv(text: str) -> Iterator[Report]:
    """A report of the mean of each command, in seconds; the last line, if it has no end, may be cut."""
    rows = csv.reader(text[: text.rfind("\n") + 1].splitlines(keepends=True), strict=True)
    unread: tuple[str, ...] = (
        "single runs, which hyperfine tells with --export-json: their spread decides, so import that instead",
    )
    head: list[str] = []
    try:
        for cells in rows:
            if not head:
                head = cells
                continue
            where = f"line {rows.line_num}"
            if len(cells) != len(head) or len(set(head)) != len(head):
                raise UnclearOutput(f"{where}: {len(cells)} cells in {len(head)} columns")
            of = dict(zip(head, cells, strict=True))
            mean = above_zero(of["mean"], where)
            if not above_zero(of["min"], where) <= mean * (1 + 1e-9) <= above_zero(of["max"], where) * (1 + 2e-9):
                raise UnclearOutput(f"{where}: the mean {shown(of['mean'])} is not between the least and the largest")
            parameters = {name.removeprefix(_PARAMETER): of[name] for name in head[len(_COLUMNS) :]}
            settings = _settings(of["command"], parameters)
            yield Report("hyperfine", "", settings, (reading("time_mean", TIME, mean),), unread)
            unread = ()
    except csv.Error:
        raise UnclearOutput(f"line {rows.line_num}: this is no row of a table") from None
    if unread:
        raise UnclearOutput("the table has no row")


READERS = (
    Reader(
        "hyperfine",
        "hyperfine's JSON: the time of each run of each command (--export-csv: means only)",
        lambda text: _is_csv(text) or _is_json(text),
        _reports,
    ),
)
