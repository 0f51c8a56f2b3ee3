"""IOzone 3: file operations over sizes of files and records, its table and its throughput mode."""

import re

from cloudcmp.model.tool import Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import BYTES, choice, measures, path, quoted, reading, size
from cloudcmp.tools.page import NUMBER, Page, above_zero, begins, whole

# The columns that each test of `-i` adds to a row, in their order.
_TESTS = {
    "0": ("write", "rewrite"), "1": ("read", "reread"), "2": ("random_read", "random_write"), "3": ("backward_read",),
    "4": ("record_rewrite",), "5": ("stride_read",), "6": ("fwrite", "frewrite"), "7": ("fread", "freread"),
}  # fmt: skip
_KB = 1024
_UNIT = r"\s*Output is in [kK][Bb]ytes/sec"
_HEAD = r"\s*[kK]B\s+reclen\s+write\s+rewrite\s+read\s+reread\s+.*freread\s*"
_THROUGHPUT = rf"\s*Children see throughput for\s+(\d+) ([a-z -]+?)\s*=\s*({NUMBER}) [kK]B/sec"


def _reports(text: str) -> tuple[Report, ...]:
    page = Page(text)
    page.one(_UNIT, "that rates are in kilobytes a second")
    page.one(r"iozone test complete\.", "that the test is complete")
    version = page.one(r"\s*Version \$Revision: ([\d.]+) \$", "the version")[1][1]
    place, match = page.one(r"\s*Command line used: (\S+)(.*)", "the command line")
    words = match[2].split()
    settings = {"direct": "yes" if "-I" in words else "no", "sync": "yes" if "-o" in words else "no"}
    if page.all(r"\s*Children see throughput for .*"):
        return (_throughput(page, version, settings),)
    return _table(page, version, settings, _columns(words, place))


def _columns(words: list[str], place: str) -> tuple[str, ...]:
    """The columns of a row: those of the tests given with `-i`, else of all tests."""
    given = [
        word[2:] or following for word, following in zip(words, [*words[1:], ""], strict=False) if word.startswith("-i")
    ]
    if unknown := [each for each in given if each not in _TESTS]:
        raise UnclearOutput(f"{place}: -i {unknown[0][:20]} is not known")
    return tuple(name for test, names in _TESTS.items() if not given or test in given for name in names)


def _table(page: Page, version: str, settings: dict[str, str], columns: tuple[str, ...]) -> tuple[Report, ...]:
    heads = [i for i, line in enumerate(page.lines) if re.fullmatch(_HEAD, line)]
    if len(heads) != 1:
        raise UnclearOutput("there is not one line that names the columns")
    reports = []
    for i in range(heads[0] + 1, len(page.lines)):
        cells = page.lines[i].split()
        if not cells:
            break
        if len(cells) != 2 + len(columns):
            raise UnclearOutput(
                f"{page.place(i)}: {len(cells) - 2} rates where the command line asks for {len(columns)}"
            )
        sizes = [whole(above_zero(cell, page.place(i)) * _KB) for cell in cells[:2]]
        rates = [above_zero(cell, page.place(i)) * _KB for cell in cells[2:]]
        readings = tuple(reading(name, BYTES, rate) for name, rate in zip(columns, rates, strict=True))
        reports.append(
            Report("iozone", version, {**settings, "file_bytes": sizes[0], "record_bytes": sizes[1]}, readings)
        )
    if len({tuple(one.settings.items()) for one in reports}) < max(1, len(reports)):
        raise UnclearOutput("the table has no row, or one of a size twice")
    return tuple(reports)


def _throughput(page: Page, version: str, settings: dict[str, str]) -> Report:
    """The bytes that all children together moved in each test, with the number of processes."""
    readings: list[Reading] = []
    counts = set()
    for place, match in page.all(_THROUGHPUT):
        name = match[2].replace("-", "").replace(" ", "_")
        if any(one.measure == name for one in readings):
            raise UnclearOutput(f"{place}: {name[:40]} is told again")
        readings.append(reading(name, BYTES, above_zero(match[3], place) * _KB))
        counts.add(match[1])
    if len(readings) != len(page.all(r"\s*Children see throughput for .*")) or len(counts) != 1:
        raise UnclearOutput("the throughput of the children is not told in one way for all tests")
    for key, label in (("record_bytes", "Record Size"), ("file_bytes", "File size set to")):
        if line := page.maybe(rf"\s*{label} (\d+) [kK]B", label):
            settings[key] = whole(above_zero(line[1][1], line[0]) * _KB)
    return Report("iozone-throughput", version, {**settings, "processes": counts.pop()}, tuple(readings))


READER = Reader(
    "iozone",
    "text of IOzone 3: a table of sizes, or the throughput mode (-t)",
    begins(r"\s*Iozone: Performance Test of File I/O"),
    _reports,
)


def _command(settings: Settings) -> str:
    flags = "".join(flag for key, flag in (("direct", " -I"), ("sync", " -o")) if settings[key] == "yes")
    sizes = f"-s {int(settings['file_bytes']) // _KB}k -r {int(settings['record_bytes']) // _KB}k"
    return f"{quoted(settings, 'path')} -i 0 -i 1 -i 2 {sizes}{flags} -f iozone.tmp"


TOOLS = (
    Tool("iozone", "Bytes a second of writing, re-writing, reading, re-reading and random access to one file.",
         "The disk, where the file fits the page cache and neither direct nor sync is asked for.", (("debian", "iozone3"),),
         (size("file_bytes", "1073741824", "size of the file, whole kilobytes", "67108864"),
          size("record_bytes", "4096", "size of one operation, whole kilobytes"),
          choice("direct", "no yes", "around the page cache"), choice("sync", "no yes", "each write waits for the disk"),
          path("path", "iozone", "the program on the measured machine: its name, or its path")),
         _command, lambda _: measures(write=BYTES, rewrite=BYTES, read=BYTES, reread=BYTES, random_read=BYTES, random_write=BYTES),
         READER, lambda s: 10 + float(s["file_bytes"]) / 1e7),
)  # fmt: skip
