"""fio (Jens Axboe), a disk benchmark: its output from version 2 on, as JSON or text."""

import re
from collections.abc import Mapping
from typing import Any

from cloudcmp.model.tool import Measure, Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools import fio_text
from cloudcmp.tools.base import BYTES, KIB, LATENCY, RATE, at_once, choice, count, duration, reading, size
from cloudcmp.tools.page import amount, documents, entry, follows, positive, whole, word

_READS = {"read", "randread", "randrw", "rw", "readwrite"}
_WRITES = {"write", "randwrite", "randrw", "rw", "readwrite"}
_PERCENTILES = {"p50": "50.000000", "p99": "99.000000"}
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_TIMES = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "m": 60.0, "h": 3600.0}

_PARAMS = (
    choice("rw", "randread randwrite randrw read write rw", "what is done"),
    size("bs_bytes", "4096", "size of one request"),
    count("iodepth", "1", "requests in flight of each job"),
    at_once("numjobs", "jobs at once: all (one for each processor), or a number"),
    choice("ioengine", "libaio psync io_uring sync", "how requests reach the kernel"),
    choice("direct", "yes no", "around the page cache, or through it"),
    size("size_bytes", "1073741824", "size of the file, made before", "67108864"),
    duration("30"),
)


def _command(settings: Settings) -> str:
    jobs = '"$(nproc)"' if settings["numjobs"] == "all" else settings["numjobs"]
    ms = max(1, round(float(settings["duration_s"]) * 1000))
    return (
        f"fio --name=cloudcmp --filename=cloudcmp.fio --size={settings['size_bytes']} --rw={settings['rw']} "
        f"--bs={settings['bs_bytes']} --ioengine={settings['ioengine']} --iodepth={settings['iodepth']} "
        f"--numjobs={jobs} --direct={int(settings['direct'] == 'yes')} --time_based --runtime={ms}ms "
        "--group_reporting --output-format=json"
    )


def _measures(settings: Settings) -> tuple[Measure, ...]:
    ways = [way for way, those in (("read", _READS), ("write", _WRITES)) if settings["rw"] in those]
    return tuple(
        Measure(f"{way}_{name}", metric)
        for way in ways
        for name, metric in (
            ("bandwidth", BYTES), ("iops", RATE), ("latency_mean", LATENCY), ("latency_p50", LATENCY),
            ("latency_p99", LATENCY),
        )
    )  # fmt: skip


def _looks_like(text: str) -> bool:
    return '"fio version"' in text or fio_text.looks_like(text)


def _reports(text: str) -> tuple[Report, ...]:
    is_text = fio_text.looks_like(text) and '"fio version"' not in text
    outputs = fio_text.runs(text) if is_text else [_of_document(output) for output in documents(text)]
    return tuple(report for output in outputs for report in _distinct_jobs(output))


def _distinct_jobs(reports: tuple[Report, ...]) -> tuple[Report, ...]:
    """The reports of one run of fio; raises UnclearOutput for clones.

    Clones of a job run at once: each has a share of their common work, and is no sample of it.
    """
    for i, one in enumerate(reports):
        if one.settings in [other.settings for other in reports[:i]]:
            name = one.settings["job"]
            raise UnclearOutput(
                f"jobs.{i}: the job {name[:40]!r} is told again, each its share; run fio with --group_reporting"
            )
    return reports


def _of_document(output: Any) -> tuple[Report, ...]:
    version = str(entry(output, "fio version"))
    known = re.fullmatch(r"fio-([23])\.\d.*", version)
    if known is None:
        raise UnclearOutput(f"fio version: {version[:40]!r} is neither 2 nor 3, which are read")
    shared = output.get("global options", {})
    jobs = entry(output, "jobs")
    if not isinstance(jobs, list) or not jobs:
        raise UnclearOutput("jobs: the output tells of no job")
    return tuple(_report(job, shared, version, f"jobs.{i}") for i, job in enumerate(jobs))


def _report(job: Any, shared: Any, version: str, where: str) -> Report:
    name = str(entry(job, "jobname"))
    if amount(job, "error") != 0:
        raise UnclearOutput(f"{where}: the job {name[:40]!r} ended with error {amount(job, 'error'):g}")
    settings = {"job": word(name), **_settings(shared), **_settings(job.get("job options", {}))}
    readings: list[Reading] = []
    for way in ("read", "write"):
        if amount(job, way, "iops") or amount(job, way, "bw"):
            readings += _of_way(entry(job, way), way, version, f"{where}.{way}")
    if not readings:
        raise UnclearOutput(f"{where}: nothing was read and nothing written")
    trimmed = "trim" in job and amount(job, "trim", "iops") > 0
    return Report("fio", version, settings, tuple(readings), (f"{where}.trim",) if trimmed else ())


def _of_way(data: Any, way: str, version: str, where: str) -> list[Reading]:
    """The readings of one direction of a job; fio 2 counts in KiB and microseconds, fio 3 in bytes and nanoseconds."""
    if version.startswith("fio-2"):
        bandwidth, latency, per = positive(data, "bw") * KIB, entry(data, "clat"), 1e-6
        moved = positive(data, "io_bytes") * KIB
    else:
        bandwidth, latency, per = positive(data, "bw_bytes"), entry(data, "clat_ns"), 1e-9
        moved = positive(data, "io_bytes")
        follows(positive(data, "bw") * KIB, bandwidth, 0.001 + KIB / bandwidth, f"{where}.bw")
    seconds = positive(data, "runtime") * 1e-3
    follows(bandwidth, moved / seconds, min(0.5, 0.01 + 1e-3 / seconds), f"{where}.bw")
    of = [("mean", positive(latency, "mean") * per)]
    of += [(name, positive(latency, "percentile", key) * per) for name, key in _PERCENTILES.items()]
    return [
        reading(f"{way}_bandwidth", BYTES, bandwidth),
        reading(f"{way}_iops", RATE, positive(data, "iops")),
        *(reading(f"{way}_latency_{name}", LATENCY, value) for name, value in of),
    ]


def _settings(options: Any) -> Mapping[str, str]:
    """The options of a job that are parameters here, as canonical text; a value that cannot be parsed stays as is."""
    if not isinstance(options, dict):
        return {}
    settings = {}
    for key, of in (("rw", str), ("bs", _size), ("iodepth", str), ("numjobs", str), ("ioengine", str),
                    ("direct", _yes), ("size", _size), ("runtime", _time)):  # fmt: skip
        if isinstance(options.get(key), str):
            ours = {"bs": "bs_bytes", "size": "size_bytes", "runtime": "duration_s"}.get(key, key)
            settings[ours] = word(of(options[key]))
    return settings


def _size(text: str) -> str:
    match = re.fullmatch(r"(\d{1,15})([kmgt]?)(?:i?b)?", text.lower(), re.ASCII)
    return str(int(match[1]) * _SIZES[match[2]]) if match else text


def _time(text: str) -> str:
    match = re.fullmatch(r"(\d{1,15})([a-z]*)", text.lower(), re.ASCII)
    if not match or match[2] not in _TIMES:
        return text
    return whole(int(match[1]) / 1000) if match[2] == "ms" else whole(int(match[1]) * _TIMES[match[2]])


def _yes(text: str) -> str:
    return {"1": "yes", "0": "no"}.get(text, text)


READER = Reader(
    "fio", "JSON, text or terse lines (version 3) of fio 2 and 3; several runs as JSON or text", _looks_like, _reports
)

TOOLS = (
    Tool(
        "fio",
        "Bandwidth, requests a second and completion latency of requests to one file.",
        "Laying out the file; time from a request's creation to its submission.",
        (("debian", "fio"), ("fedora", "fio"), ("alpine", "fio")),
        _PARAMS,
        _command,
        _measures,
        READER,
        lambda settings: float(settings["duration_s"]) + float(settings["size_bytes"]) / 1e8 + 1,
    ),
)
