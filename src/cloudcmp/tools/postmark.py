"""PostMark 1.51 (Jeffrey Katcher): many small files, created, read, appended to and removed."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import BYTES, KIB, MIB, RATE, count, measures, reading, size
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, each_run, follows

_BEGINS = re.compile(r"PostMark v(\S+) : .*")
_LEAST_S = 10
"""PostMark counts in whole seconds: over ten of them a rate is known to a tenth."""

_SCALES = {"bytes": 1.0, "kilobytes": KIB, "megabytes": MIB, "gigabytes": KIB * MIB}


def _report(run: Page, first: re.Match[str]) -> Report:
    total = run.value("", "the seconds in all", " seconds total")
    place, match = run.one(r"\s*(\d+) seconds of transactions \((\d+) per second\)", "the seconds of transactions")
    seconds = above_zero(match[1], place)
    if seconds < _LEAST_S:
        raise UnclearOutput(
            f"{place}: {seconds:g} s, counted in whole seconds, is too short for a rate; ask for more transactions"
        )
    readings = [reading("transactions", RATE, above_zero(match[2], place))]
    for name in ("created", "deleted"):
        place, match = run.one(rf"\s*(\d+) {name} \(\d+ per second\)", f"how many files were {name}")
        readings.append(reading(name, RATE, above_zero(match[1], place) / total))
    for name in ("read", "appended"):
        place, match = run.one(rf"\s*(\d+) {name} \((\d+) per second\)", f"how many files were {name}")
        done = above_zero(match[1], place)
        follows(above_zero(match[2], place), done / seconds, 0.001 + seconds / done, place)
        readings.append(reading(name, RATE, done / seconds))
    readings += [_moved(run, name, total) for name in ("read", "written")]
    return Report("postmark", first[1], {}, tuple(readings))


def _moved(run: Page, name: str, total: float) -> Reading:
    place, match = run.one(rf"\s*({NUMBER}) (\w+) {name} \(({NUMBER}) (\w+) per second\)", f"how much was {name}")
    if match[2] not in _SCALES or match[4] not in _SCALES:
        raise UnclearOutput(f"{place}: {match[2][:20]!r} is not known")
    moved = above_zero(match[1], place) * _SCALES[match[2]] / total
    follows(above_zero(match[3], place) * _SCALES[match[4]], moved, 0.001 + 0.02 * _SCALES[match[4]] / moved, place)
    return reading(f"{name}_bandwidth", BYTES, moved)


READER = Reader(
    "postmark",
    "text of PostMark 1.5, the long report",
    begins(r"PostMark v\d"),
    each_run(_BEGINS, "no line tells the version of PostMark", _report),
)


def _command(settings: Settings) -> str:
    lines = (
        "set location .",
        f"set number {settings['files']}",
        f"set transactions {settings['transactions']}",
        f"set size {settings['smallest_bytes']} {settings['largest_bytes']}",
        "set report verbose",
        "run",
        "quit",
    )
    return "postmark <<'END'\n" + "\n".join(lines) + "\nEND"


TOOLS = (
    Tool("postmark", "Transactions a second on many small files, and what was read and written.",
         "Times below a second, in which it counts; the disk, as long as the files fit the page cache.",
         (("debian", "postmark"), ("fedora", "postmark")),
         (count("files", "20000", "files at the beginning"), count("transactions", "500000", "each reads or lengthens, and makes or removes"),
          size("smallest_bytes", "500", "size of the smallest file"), size("largest_bytes", "9770", "size of the largest file")),
         _command,
         lambda _: measures(transactions=RATE, created=RATE, deleted=RATE, read=RATE, appended=RATE,
                            read_bandwidth=BYTES, written_bandwidth=BYTES),
         READER, lambda s: 10 + float(s["transactions"]) / 5000 + float(s["files"]) / 2000),
)  # fmt: skip
