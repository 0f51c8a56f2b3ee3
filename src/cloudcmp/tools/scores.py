"""CoreMark and bonnie++; import only."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, UnclearOutput
from cloudcmp.tools.base import BYTES, KIB, RATE, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, follows, has_line

_BONNIE = re.compile(r"1\.9[678],1\.9[678]\w*,[^,]*,\d+,\d+,\w+(?:,[^,]*){42}")
# Field, our name, metric, and the size of one of its units: kilobytes of 2^10 bytes, or seeks.
_FIELDS = ((9, "write", BYTES, KIB), (11, "rewrite", BYTES, KIB), (15, "read", BYTES, KIB), (17, "seeks", RATE, 1.0))


def _coremark(text: str) -> tuple[Report, ...]:
    page = Page(text)
    page.one(r"Correct operation validated\. .*", "that the results are right")
    place, match = page.one(rf"Iterations/Sec\s+: ({NUMBER})", "iterations a second")
    rate = above_zero(match[1], place)
    seconds = page.value(r"Total time \(secs\):", "the total time")
    follows(rate, page.value(r"Iterations\s+:", "the iterations") / seconds, 0.001, place)
    place, score = page.one(rf"CoreMark 1\.0 : ({NUMBER})(?: / .*)?", "the score")
    follows(above_zero(score[1], place), rate, 1e-6, place)
    settings = {"size": page.one(r"CoreMark Size\s+: (\d+)", "the size")[1][1]}
    if line := page.maybe(r"Parallel \w+\s*: (\d+)", "how many ran at once"):
        settings["threads"] = line[1][1]
    return (Report("coremark", "", settings, (reading("iterations", RATE, rate),)),)


def _bonnie(text: str) -> tuple[Report, ...]:
    page = Page(text)
    reports = []
    for i, line in enumerate(page.lines):
        if not line.startswith("1.9"):
            continue
        if not _BONNIE.fullmatch(line):
            raise UnclearOutput(f"{page.place(i)}: this is no line of 48 fields of bonnie++ 1.96 to 1.98")
        cells = line.split(",")
        readings: list[Reading] = []
        left = []
        for at, name, metric, unit in _FIELDS:
            if cells[at] in {"", "+++++"}:  # not requested, or too short to measure
                left.append(name)
            else:
                readings.append(reading(name, metric, above_zero(cells[at], page.place(i)) * unit))
        if not readings:
            raise UnclearOutput(f"{page.place(i)}: no figure is told")
        settings = {"file_size": cells[5], "concurrency": cells[3]}
        reports.append(Report("bonnie++", cells[1], settings, tuple(readings), tuple(left)))
    if not reports:
        raise UnclearOutput("there is no line of comma-separated figures")
    return tuple(reports)


READERS = (
    Reader("coremark", "text of CoreMark 1.0", begins(r"CoreMark Size\s+: "), _coremark),
    Reader("bonnie++", "the comma-separated lines of bonnie++ 1.96 to 1.98", has_line(_BONNIE), _bonnie),
)
