"""lmbench 3's report of a whole run: its latencies, each with its unit; tables without units are not read."""

from cloudcmp.model.tool import Reader, Report, UnclearOutput
from cloudcmp.tools.base import LATENCY, reading
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, word

_BEGINS = r"\[lmbench(\d\.\d+) results for .*\]"
_TIME = rf"(\S.*): ({NUMBER}) microseconds"
_SWITCHES = rf'"size=\d+k? ovr={NUMBER}'


def _reports(text: str) -> tuple[Report, ...]:
    page = Page(text)
    version = page.one(_BEGINS, "the version of lmbench")[1][1]
    # Context switching comes after the last of the latencies that are read: if it is there, they all are.
    if not page.all(_SWITCHES):
        raise UnclearOutput("no line begins the table of context switches: the output is cut")
    reports: dict[str, Report] = {}
    for place, match in page.all(_TIME):
        name = word(match[1])
        if name in reports:
            raise UnclearOutput(f"{place}: {name[:40]} is told again")
        reports[name] = Report(
            "lmbench", version, {"test": name}, (reading("latency", LATENCY, above_zero(match[2], place) * 1e-6),)
        )
    if not reports:
        raise UnclearOutput("no line tells a latency in microseconds")
    first, *more = reports.values()
    unread = ("bandwidths and tables, whose figures have no unit or one of two meanings",)
    return (Report(first.tool, first.version, first.settings, first.readings, unread), *more)


READERS = (
    Reader("lmbench", "the report of lmbench 3: its latencies in microseconds", begins(rf"{_BEGINS}\r?$"), _reports),
)
