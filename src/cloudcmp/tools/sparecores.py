"""The tables and documents with Spare Cores' results of the tools that it runs on rented servers."""

import csv
import re
from collections import Counter
from dataclasses import replace

from cloudcmp.model.tool import Reader, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, INDEX, RATE, reading
from cloudcmp.tools.page import (
    NUMBER,
    Page,
    above_zero,
    amount,
    document,
    entry,
    follows,
    has_head,
    positive,
    whole,
    word,
)

_BW_MEM = r"(rd|wr|rdwr) (\d+\.\d+) (\S+)"
_REDIS = '"operation","threads","pipeline","rps","latency","server_usr","server_sys","client_usr","client_sys"'
_WEB = '"size","threads","connections","rps","latency","failed","server_usr","server_sys","client_usr","client_sys"'


def _is_bw_mem(text: str) -> bool:
    lines = [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    return len(lines) > 1 and all(re.fullmatch(_BW_MEM, line, re.ASCII) for line in lines[:3])


def _bw_mem(text: str) -> tuple[Report, ...]:
    """lmbench's bw_mem: an operation, megabytes of 10^6 bytes, and such megabytes a second."""
    page = Page(text)
    reports = []
    for i, line in enumerate(page.lines):
        match = re.fullmatch(_BW_MEM, line, re.ASCII)
        if line.strip() and match is None:
            raise UnclearOutput(f"{page.place(i)}: this is no operation with a size and a rate")
        if match:
            settings = {"op": match[1], "size_bytes": whole(round(above_zero(match[2], page.place(i)) * 1e6))}
            rate = above_zero(match[3], page.place(i)) * 1e6
            reports.append(Report("bw_mem", "", settings, (reading("bandwidth", BYTES, rate),)))
    if page.rest.strip():
        raise UnclearOutput("the last line has no end: the output is cut")
    return _each_once(reports)


def _each_once(reports: list[Report]) -> tuple[Report, ...]:
    keys: set[tuple[tuple[str, str], ...]] = set()
    for one in reports:
        key = tuple(one.settings.items())
        if key in keys:
            raise UnclearOutput(f"{', '.join(f'{k} {v}' for k, v in key)}: told twice")
        keys.add(key)
    if not reports:
        raise UnclearOutput("there is no figure")
    return tuple(reports)


def _cells(line: str, where: str) -> list[str]:
    """The cells of one line; raises UnclearOutput if its quotes are not those of a CSV table."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        raise UnclearOutput(f"{where}: this is no row of a table") from None


def _csv(tool: str, head: str, keys: tuple[str, ...]) -> Reader:
    """The reader of a table of answers a second; its latencies have no unit and are not read."""
    columns = head.replace('"', "").split(",")

    def reports(text: str) -> tuple[Report, ...]:
        page = Page(text)
        if not page.lines or page.lines[0] != head:
            raise UnclearOutput("line 1: these are not the columns of this table")
        row_reports = []
        # The last cell of a row is not read, so that a last row without an end is complete if it has all cells.
        rows = [*page.lines, *([page.rest] if len(_cells(page.rest, "the last line")) == len(columns) else [])]
        for i, line in enumerate(rows[1:], 1):
            cells = _cells(line, page.place(i))
            if not cells:
                continue
            if len(cells) != len(columns):
                raise UnclearOutput(f"{page.place(i)}: {len(cells)} cells in {len(columns)} columns")
            of = dict(zip(columns, cells, strict=True))
            if of.get("failed", "0") != "0":
                raise UnclearOutput(f"{page.place(i)}: {word(of['failed'])} answers failed")
            settings = {key: word(of[key]).lower() for key in keys}
            row_reports.append(
                Report(
                    tool, "", settings, (reading("requests", RATE, above_zero(of["rps"], page.place(i))),), ("latency",)
                )
            )
        return _each_once(row_reports)

    return Reader(tool, f"Spare Cores' table of {tool}", has_head(head), reports)


def _is_compression(text: str) -> bool:
    return text.lstrip().startswith("{") and '"extra_args"' in text and '"decompress"' in text


def _compression(text: str) -> tuple[Report, ...]:
    """Bytes a second of compressing and decompressing one text, for each algorithm, level and number of threads."""
    reports = []
    output = document(text)
    for algorithm, levels in output.items() if isinstance(output, dict) else ():
        for level in levels if isinstance(levels, dict) else ():
            rows = levels[level]
            for i, row in enumerate(rows if isinstance(rows, list) else ()):
                where = f"{word(algorithm)}.{word(level)}.{i}"
                more = entry(row, "extra_args")
                if not isinstance(more, dict):
                    raise UnclearOutput(f"{where}: extra_args is no object")
                settings = {
                    "algorithm": word(algorithm),
                    "level": word(level),
                    "threads": whole(positive(row, "threads")),
                }
                settings |= {word(key): word(str(value)) for key, value in more.items()}
                rates = [(name, entry(row, name)) for name in ("compress", "decompress")]
                readings = tuple(
                    reading(name, BYTES, positive(row, name)) for name, value in rates if value is not None
                )
                if readings:
                    reports.append(Report("compression", "", settings, readings))
    return _unambiguous(reports)


def _unambiguous(reports: list[Report]) -> tuple[Report, ...]:
    """The reports whose settings are unique; the last one counts the others as unread."""
    often = Counter(tuple(one.settings.items()) for one in reports)
    alone = [one for one in reports if often[tuple(one.settings.items())] == 1]
    if not alone:
        raise UnclearOutput("there is no figure that can be told apart from the others")
    if len(alone) < len(reports):
        unread = f"{len(reports) - len(alone)} rows whose settings others have too"
        alone.append(replace(alone.pop(), unread=(unread,)))
    return tuple(alone)


def _is_passmark(text: str) -> bool:
    return bool(re.search(r"^  SUMM_(CPU|ME): ", text, re.MULTILINE)) and "BaselineInfo:" in text


def _passmark(text: str) -> tuple[Report, ...]:
    page = Page(text)
    page.one(r"\s*Results Complete: true", "that the results are complete")
    page.one(r"SystemInformation:", "the end of the results")
    settings = {"processes": page.one(r"\s*NumTestProcesses: (\d+)", "how many processes ran")[1][1]}
    version = ".".join(page.one(rf"\s*{part}: (\d+)", part)[1][1] for part in ("Major", "Minor", "Build"))
    readings = [
        reading(name, INDEX, page.value(f"{key}:", key))
        for name, key in (("cpu_mark", "SUMM_CPU"), ("memory_mark", "SUMM_ME"))
    ]
    results = page.lines[: page.lines.index("SystemInformation:")]
    other = sum(re.fullmatch(rf"  (CPU|ME|m_CPU)_\w+: {NUMBER}", line, re.ASCII) is not None for line in results)
    return (Report("passmark", version, settings, tuple(readings), (f"{other} lines of single tests",)),)


def _is_llama(text: str) -> bool:
    return text.startswith("{") and '"avg_ts"' in text.split("\n", 1)[0]


def _llama(text: str) -> tuple[Report, ...]:
    """The reports of llama-bench's lines of JSON: tokens a second of reading a prompt, or of writing."""
    page = Page(text)
    reports = []
    for i, line in enumerate(page.lines):
        if not line.strip():
            continue
        row = document(line)
        rate = positive(row, "avg_ts")
        samples = entry(row, "samples_ts")
        if not isinstance(samples, list) or not samples:
            raise UnclearOutput(f"{page.place(i)}: there is no sample")
        follows(rate, sum(positive(samples, at) for at in range(len(samples))) / len(samples), 0.001, page.place(i))
        tokens = amount(row, "n_prompt") + amount(row, "n_gen")
        follows(positive(samples, 0), tokens / (positive(row, "samples_ns", 0) * 1e-9), 0.01, page.place(i))
        settings = {key: whole(amount(row, key)) for key in ("n_prompt", "n_gen", "n_threads")}
        settings["model"] = word(str(entry(row, "model_filename")).rpartition("/")[2])
        reports.append(
            Report("llama-bench", str(row.get("build_commit", ""))[:20], settings, (reading("tokens", RATE, rate),))
        )
    return _each_once(reports)


READERS = (
    Reader("bw_mem", "lines of lmbench's bw_mem with the operation before them", _is_bw_mem, _bw_mem),
    _csv("redis", _REDIS, ("operation", "threads", "pipeline")),
    _csv("static_web", _WEB, ("size", "threads", "connections")),
    Reader("compression", "Spare Cores' JSON of compressing a text", _is_compression, _compression),
    Reader("passmark", "the YAML of PassMark PerformanceTest on Linux: its two marks", _is_passmark, _passmark),
    Reader("llama-bench", "JSON lines of llama-bench", _is_llama, _llama),
)
