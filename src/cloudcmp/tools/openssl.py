"""openssl speed: hashes, ciphers and signatures, by its machine-readable lines or its table."""

import re
from dataclasses import replace

from cloudcmp.model.tool import Reader, Reading, Report, Settings, Tool, UnclearOutput
from cloudcmp.tools.base import BYTES, RATE, at_once, choice, duration, measures, processors, reading, whole_seconds
from cloudcmp.tools.page import NUMBER, Page, above_zero, follows, number, word

_SIZES = ("16", "64", "256", "1024", "8192", "16384")
_HEAD = r"(?:Got: )?\+H(?::\d+)+(?: from \d+)?"
_PLAIN_HEAD = re.compile(r"\+H(?::\d+)+", re.ASCII)
_VERSION = re.compile(r"version: (\d\S*)|OpenSSL (\d+\.\d\S*)\s+\d+ \w+ \d{4}.*", re.ASCII)
_OTHER = r"\+F(?:[5789]|1\d):.*|\s+(?:op\s+op/s|keygen\s.*|sign\s+verify\s+encrypt\s.*)"
_SPEEDS = rf"\+F:\d+:([^:]+)((?::{NUMBER})+)"
_CHILD = rf"Got: {_SPEEDS} from \d+"
_TABLE = r"type((?:\s+\d+ bytes)+)"
_ROW = re.compile(rf"(\S.*?)((?:\s+{NUMBER}k)+)\s*", re.ASCII)
_SIGNED = r"\s+sign\s+verify\s+sign/s verify/s"
_SIGNATURES = {"2": "rsa", "3": "dsa", "4": "ecdsa", "6": "eddsa"}
_THOUSANDS = "The 'numbers' are in 1000s of bytes per second processed."
_PUBLIC = rf"\s*(?:(rsa|dsa)\s+)?(\d+) bits (?:(ecdsa|EdDSA) \((\w+)\))?\s*({NUMBER})s\s+({NUMBER})s\s+({NUMBER})\s+({NUMBER})\s*"


def _looks_like(text: str) -> bool:
    match = re.search(rf"^({_SPEEDS}|{_CHILD}|\+F[2346]:\d+:.*|{re.escape(_THOUSANDS)}|{_SIGNED})$",
                      text.replace("\r", ""), re.MULTILINE | re.ASCII)  # fmt: skip
    return match is not None


def _reports(text: str) -> tuple[Report, ...]:
    page = Page(text)
    return tuple(report for run in _each_run(page) for report in _of_run(run))


def _each_run(page: Page) -> list[Page]:
    """The pages of single runs: each begins with a version, or with the sizes of -mr; that of -multi with its children."""
    if not page.all(_CHILD):
        for begins in (_VERSION, _PLAIN_HEAD):
            runs = page.split([i for i, line in enumerate(page.lines) if begins.fullmatch(line)])
            if len(runs) > 1:
                return runs
    return [page]


def _of_run(page: Page) -> list[Report]:
    reports = [*(_of_lines(page) or _of_children(page)), *_of_table(page), *_of_keys(page)]
    if not reports:
        raise UnclearOutput("no line tells a speed")
    names = [one.settings["algorithm"] for one in reports]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UnclearOutput(f"the output tells of {twice[0]} twice")
    if line := next((match for line in page.lines if (match := _VERSION.fullmatch(line))), None):
        reports = [replace(one, version=line[1] or line[2]) for one in reports]
    if others := page.all(_OTHER):
        reports[0] = replace(reports[0], unread=(f"key agreement and encryption, from {others[0][0]} on",))
    return reports


def _of_lines(page: Page) -> list[Report]:
    """The lines of `-mr`; with `-multi`, a line without `Got:` is the sum of all processes."""
    heads = {tuple(re.findall(r":(\d+)", match[0])) for _, match in page.all(_HEAD)}
    lines = page.all(_SPEEDS)
    if odd := [place for place, match in page.all(r"\+F:.*") if not re.fullmatch(_SPEEDS, match[0], re.ASCII)]:
        raise UnclearOutput(f"{odd[0]}: this is no line of speeds")
    if not lines:
        return []
    if len(heads) != 1:
        raise UnclearOutput(f"{len(heads)} lines tell the sizes of blocks, one is needed")
    sizes = heads.pop()
    return [_speeds(place, match[1], match[2].split(":")[1:], sizes, 1.0) for place, match in lines]


def _of_children(page: Page) -> list[Report]:
    """The rows of `-multi` without `-mr`, which have no heading: thousands of bytes a second, the sum of all processes."""
    lines = page.all(_CHILD)
    if not lines or page.all(_TABLE):
        return []
    heads = {tuple(re.findall(r":(\d+)", match[0])) for _, match in page.all(_HEAD)}
    if len(heads) != 1:
        raise UnclearOutput(f"{len(heads)} lines tell the sizes of blocks, one is needed")
    sizes = heads.pop()
    sums: dict[str, list[float]] = {}
    for place, match in lines:
        own = [above_zero(speed, place) for speed in match[2].split(":")[1:]]
        if len(own) != len(sizes):
            raise UnclearOutput(f"{place}: {len(own)} speeds for {len(sizes)} sizes of blocks")
        sums[match[1]] = [a + b for a, b in zip(sums.get(match[1], [0.0] * len(sizes)), own, strict=True)]
    first = int(lines[-1][0].removeprefix("line ")) - page.first + 1
    rows = [
        (page.place(i), row)
        for i, line in enumerate(page.lines[first:], first)
        if (row := _ROW.fullmatch(line)) and row[1] in sums
    ]
    if sorted(row[1] for _, row in rows) != sorted(sums):
        raise UnclearOutput("there is not one row of the sum for each algorithm of the processes")
    reports = []
    for place, row in rows:
        speeds = re.findall(rf"({NUMBER})k", row[2], re.ASCII)
        report = _speeds(place, row[1], speeds, sizes, 1e3)
        for one, total in zip(report.readings, sums[row[1]], strict=True):
            follows(one.value, total, 1e-4, place)
        reports.append(report)
    return reports


def _of_table(page: Page) -> list[Report]:
    head = page.maybe(_TABLE, "the sizes of blocks")
    if head is None:
        return []
    if _THOUSANDS not in page.lines:
        raise UnclearOutput(f"{head[0]}: no line says that speeds are in thousands of bytes a second")
    sizes = tuple(re.findall(r"(\d+) bytes", head[1][1]))
    first = next(i for i, line in enumerate(page.lines) if re.fullmatch(_TABLE, line)) + 1
    reports = []
    for i in range(first, len(page.lines)):
        if not page.lines[i].strip() or re.fullmatch(_SIGNED, page.lines[i]):
            break
        match = _ROW.fullmatch(page.lines[i])
        if match is None:
            raise UnclearOutput(f"{page.place(i)}: this is no row of speeds in thousands of bytes a second")
        speeds = re.findall(rf"({NUMBER})k", match[2], re.ASCII)
        reports.append(_speeds(page.place(i), match[1], speeds, sizes, 1e3))
    return reports


def _speeds(place: str, name: str, speeds: list[str], sizes: tuple[str, ...], unit: float) -> Report:
    if len(speeds) != len(sizes) or len(set(sizes)) != len(sizes):
        raise UnclearOutput(f"{place}: {len(speeds)} speeds for {len(sizes)} sizes of blocks")
    readings = tuple(
        reading(f"of_{size}_bytes", BYTES, above_zero(speed, place) * unit)
        for size, speed in zip(sizes, speeds, strict=True)
    )
    return Report("openssl-speed", "", {"algorithm": word(name).lower()}, readings)


def _of_keys(page: Page) -> list[Report]:
    """Signatures: `+F2` is RSA, `+F3` DSA, `+F4` ECDSA, `+F6` EdDSA, in operations a second; else the rows of their table.

    Since version 3.2 RSA has two more figures, of encryption.
    """
    reports = []
    for place, match in page.all(
        rf"\+F([2346]):\d+:(\d+)(?::[A-Za-z]\w*)?:({NUMBER}):({NUMBER})(?::{NUMBER}:{NUMBER})?"
    ):
        name = f"{_SIGNATURES[match[1]]}{match[2]}"
        # Before version 1.1 these were seconds per operation: below one, and for RSA longer for signing.
        sign, verify = number(match[3], place), number(match[4], place)
        if min(sign, verify) < 1 or (match[1] == "2" and sign > verify):
            raise UnclearOutput(
                f"{place}: {name} may be in seconds, as openssl 1.0 tells it, and not in operations a second"
            )
        reports.append(_key(place, name, match[3], match[4]))
    rows = page.all(_PUBLIC)
    headed = [place for i, place in enumerate(map(page.place, range(len(page.lines)))) if i and _heads(page, i)]
    if [place for place, _ in rows] != headed:
        raise UnclearOutput("a row of signatures has no line above it that says sign/s and verify/s, or is none")
    for place, match in rows:
        reports.append(_key(place, f"{(match[1] or match[3] or '').lower()}{match[2]}", match[7], match[8]))
    return reports


def _heads(page: Page, row: int) -> bool:
    """True if a row follows a heading of signatures, with only such rows between, and is not a heading itself."""
    above = next((line for line in reversed(page.lines[:row]) if not re.fullmatch(_PUBLIC, line, re.ASCII)), "")
    return bool(re.fullmatch(_SIGNED, above)) and not re.fullmatch(f"{_SIGNED}|{_OTHER}", page.lines[row])


def _key(place: str, name: str, sign: str, verify: str) -> Report:
    rates: tuple[Reading, ...] = (
        reading("sign", RATE, above_zero(sign, place)),
        reading("verify", RATE, above_zero(verify, place)),
    )
    return Report("openssl-speed", "", {"algorithm": name}, rates)


READER = Reader(
    "openssl",
    "openssl speed of hashes, ciphers and signatures, with -mr or its table; one run or several",
    _looks_like,
    _reports,
)


def _command(settings: Settings) -> str:
    return (
        f"openssl speed -mr -elapsed -seconds {whole_seconds(settings)} -multi {processors(settings)} "
        f"-evp {settings['algorithm']} 2>/dev/null"
    )


TOOLS = (
    Tool("openssl-speed", "Bytes a second through a cipher or a hash, for six sizes of blocks.",
         "Setting up keys; other libraries.", (("debian", "openssl"), ("fedora", "openssl"), ("alpine", "openssl")),
         (choice("algorithm", "aes-256-gcm aes-128-gcm aes-256-cbc chacha20-poly1305 sha256 sha512 sha3-256 blake2b512", "which one"),
          at_once(), duration("3", doc="length of the measured phase for each size")),
         _command, lambda _: measures(**{f"of_{size}_bytes": BYTES for size in _SIZES}), READER,
         lambda s: 6 * float(s["duration_s"]) + 1),
)  # fmt: skip
