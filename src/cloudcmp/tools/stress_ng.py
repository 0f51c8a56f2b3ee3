"""stress-ng (Colin King): bogo operations a second of one kind of load, from its brief table or its YAML."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import RATE, at_once, choice, duration, measures, processors, reading, whole_seconds
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, follows, half_a_digit, near, number

_LINE = r"stress-ng: (?:info|metrc|metrics):\s+\[\d+\] "
_BEGINS = _LINE + r"dispatching hogs: (.+)"
_HEAD = re.compile(_LINE + r"stressor\s+bogo ops\s+real time\s+usr time\s+sys time\s+bogo ops/s\s+bogo ops/s.*")
_UNITS = re.compile(_LINE + r"\s*\(secs\)\s+\(secs\)\s+\(secs\)\s+\(real time\)\s+\(usr\+sys time\).*")
_ROW = (
    _LINE
    + rf"([a-z][\w-]*)\s+(\d+)\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})(?:\s+{NUMBER})*\s*"
)
_YAML = r"\s*(?:- )?([\w-]+): (.*)"
_CPU = "cpu"


def _reports(text: str) -> tuple[Report, ...]:
    page = Page(text)
    if page.all(r"\s*stress-ng-version: .*"):
        runs, read = page.parts(lambda line: line == "---"), _of_yaml
    else:
        runs, read = page.parts(lambda line: re.fullmatch(_BEGINS, line, re.ASCII) is not None), _of_table
    return tuple(report for run in (runs if len(runs) > 1 else [page]) for report in read(run))


def _of_table(page: Page) -> tuple[Report, ...]:
    place, match = page.one(_BEGINS, "what was begun")
    begun = {}
    for item in match[1].split(", "):
        count, _, name = item.partition(" ")
        if not count.isdigit() or not re.fullmatch(r"[a-z][\w-]*", name, re.ASCII) or name in begun:
            raise UnclearOutput(f"{place}: {item[:40]!r} is not a number of stressors")
        begun[name] = count
    heads = [i for i, line in enumerate(page.lines) if _HEAD.fullmatch(line)]
    if len(heads) != 1 or heads[0] + 1 >= len(page.lines) or not _UNITS.fullmatch(page.lines[heads[0] + 1]):
        raise UnclearOutput("there is not one table of bogo operations, in seconds")
    page.one(_LINE + r"successful run completed in .*", "that the run was successful")
    for what in ("failed", "metrics untrustworthy"):
        line = page.maybe(_LINE + rf"{what}: (\d+).*", what)
        if line and int(line[1][1]):
            raise UnclearOutput(f"{line[0]}: {what}: {line[1][1][:20]}")
    rows = {match[1]: _rates(place, match) for place, match in page.all(_ROW)}
    if list(rows) != [name for name in begun if name in rows] or len(page.all(_ROW)) != len(begun):
        raise UnclearOutput(f"the table tells of {', '.join(rows) or 'nothing'}, {', '.join(begun)} were begun")
    return tuple(
        Report(_tool(name), "", {"stressor": name, "workers": begun[name]}, readings) for name, readings in rows.items()
    )


def _rates(place: str, row: re.Match[str]) -> tuple[Reading, ...]:
    operations, real = above_zero(row[2], place), above_zero(row[3], place)
    rate = above_zero(row[6], place)
    follows(rate, operations / real, 0.005 + 0.005 / real, place, half_a_digit(row[6]))
    busy = number(row[4], place) + number(row[5], place)
    readings = [reading("bogo_ops", RATE, rate)]
    if busy > 0.1:  # its resolution is a hundredth of a second
        by_cpu = above_zero(row[7], place)
        follows(by_cpu, operations / busy, 0.005 + 0.011 / busy, place, half_a_digit(row[7]))
        readings.append(reading("bogo_ops_by_cpu_time", RATE, by_cpu))
    return tuple(readings)


def _tool(stressor: str) -> str:
    return "stress-ng-cpu" if stressor == _CPU else "stress-ng"


def _of_yaml(page: Page) -> tuple[Report, ...]:
    page.one(r"metrics:", "where the metrics begin")
    page.one(r"\.\.\.", "the end of the document")
    version = page.one(r"\s*stress-ng-version: (.+)", "the version")[1][1]
    runs = page.parts(lambda line: line.strip().startswith("- stressor: "))
    if not runs:
        raise UnclearOutput("the document has no stressor")
    reports = [_of_part(run, version) for run in runs]
    if len({one.settings["stressor"] for one in reports}) < len(reports):
        raise UnclearOutput("the document tells of one stressor twice")
    return tuple(reports)


def _of_part(run: Page, version: str) -> Report:
    fields: dict[str, str] = {}
    for place, match in run.all(_YAML):
        if match[1] in fields:
            raise UnclearOutput(f"{place}: {match[1][:40]!r} is told twice")
        fields[match[1]] = match[2]
    where = run.place(0)
    try:
        operations, seconds = above_zero(fields["bogo-ops"], where), above_zero(fields["wall-clock-time"], where)
        rate = above_zero(fields["bogo-ops-per-second-real-time"], where)
        by_cpu = number(fields["bogo-ops-per-second-usr-sys-time"], where)
        busy = number(fields["user-time"], where) + number(fields["system-time"], where)
    except KeyError as error:
        raise UnclearOutput(f"{where}: this stressor has no {error.args[0]}") from None
    follows(rate, operations / seconds, 0.001, where, half_a_digit(fields["bogo-ops-per-second-real-time"]))
    readings = [reading("bogo_ops", RATE, rate)]
    if busy > 0.1:
        follows(by_cpu, operations / busy, 0.005, where, half_a_digit(fields["bogo-ops-per-second-usr-sys-time"]))
        readings.append(reading("bogo_ops_by_cpu_time", RATE, by_cpu))
    if not re.fullmatch(r"[a-z][\w-]*", fields["stressor"], re.ASCII):
        raise UnclearOutput(f"{where}: {fields['stressor'][:40]!r} is no stressor")
    settings = {"stressor": fields["stressor"]}
    # The output does not name the number of workers: it follows from the processor time of all and of each.
    if busy > 0.1 and number(fields.get("cpu-usage-per-instance", "0"), where) > 1:
        workers = busy / seconds / (number(fields["cpu-usage-per-instance"], where) / 100)
        if workers < 1e6 and near(workers, round(workers), 0.02):
            settings["workers"] = str(round(workers))
    return Report(_tool(fields["stressor"]), version[:40], settings, tuple(readings))


READER = Reader(
    "stress-ng",
    "text with --metrics-brief or --metrics, or its YAML; one run or several",
    begins(r"stress-ng: \w+:\s+\[\d+\] |\s*stress-ng-version: "),
    _reports,
)


def _line(settings: Settings, load: str) -> str:
    return f"stress-ng {load} --metrics-brief --timeout {whole_seconds(settings)}s 2>&1"


def _typical(settings: Settings) -> float:
    return float(settings["duration_s"]) + 2


_PACKAGES = (("debian", "stress-ng"), ("fedora", "stress-ng"), ("alpine", "stress-ng"))
_MEASURES = measures(bogo_ops=RATE, bogo_ops_by_cpu_time=RATE)
_EXCLUDES = "Real work: the operations are the tool's own, and differ between its versions."

TOOLS = (
    Tool("stress-ng-cpu", "Rounds a second of one of its loads for a processor.", _EXCLUDES, _PACKAGES,
         (at_once("workers", "how many work at once: all (one for each processor), or a number"),
          choice("cpu_method", "div16 all double fft int64 matrixprod pi prime", "what a round is"), duration("20")),
         lambda s: _line(s, f"--cpu {processors(s, 'workers')} --cpu-method {s['cpu_method']}"),
         lambda _: _MEASURES, READER, _typical),
    Tool("stress-ng", "Rounds a second of one of its loads.", _EXCLUDES, _PACKAGES,
         (choice("stressor", "matrix memcpy vecmath qsort crypt bsearch cache fork switch pipe hdd", "which load"),
          at_once("workers", "how many work at once: all (one for each processor), or a number"), duration("20")),
         lambda s: _line(s, f"--{s['stressor']} {processors(s, 'workers')}"), lambda _: _MEASURES, READER, _typical),
)  # fmt: skip
