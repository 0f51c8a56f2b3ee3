"""Prints what a watch has seen: availability first, then outages, response times, what an hour would need, evidence."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rich.console import Console

from cloudcmp.model.watch import LineSpan
from cloudcmp.model.watch_summary import Outage, WatchedFolder, WatchSummary
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import are, counted, format_quantity, format_seconds

_MOST_OUTAGES = 20
_BOUNDS = (
    "of the time that was watched, each right in 95 % of cases however outages cluster; those of times like it are "
    "wider, as outages last: 'cloudcmp sla' has them"
)


def show_watched(console: Console, folders: Sequence[WatchedFolder], *, verified: bool = False) -> None:
    """Print what each folder of evidence holds; `verified` says first how far it is as it was written and signed."""
    for at, one in enumerate(folders):
        if at:
            say(console, "")
        if verified:
            say(console, verified_words(one), "bold yellow" if one.unsigned else "bold")
        else:
            say(console, one.folder, "bold")
        _summary(console, one)
        _evidence(console, one)


def _summary(console: Console, one: WatchedFolder) -> None:
    found = one.summary
    labelled(console, "ANSWER", f"{found.target}: {availability_words(found)}", "bold")
    if one.unsigned_samples:
        labelled(console, "", left_out_words(one), "bold yellow")
    if found.gaps:
        of_them = ", or nobody signed what was seen" if one.unsigned_samples else ""
        text = f"{found.gaps}, {format_seconds(found.gap_s)} in all, in which nobody looked{of_them}"
        labelled(console, "GAPS", f"{text}: neither up nor down", "yellow")
    if found.n:
        here, *more = found.hour
        needs = ", ".join(f"{one.proves * 100:g} % needs one every {format_quantity(one.every_s, 's')}" for one in more)
        verb = "proves" if here.samples == 1 else "prove"
        text = (f"{counted(here.samples, 'sample')} without a failure {verb} at least "
                f"{percent(here.proves, math.floor)}; {needs}")  # fmt: skip
        labelled(console, "AN HOUR", text)
        labelled(console, "BOUNDS", _BOUNDS)
    if found.outages:
        say(console, "")
        _outages(console, found.outages)
    if found.percentiles:
        say(console, "")
        rows = [
            [f"{one.p * 100:g} %", format_quantity(one.value_s, "s"),
             "too few" if one.bounds is None else
             f"{format_quantity(one.bounds.low, 's')} to {format_quantity(one.bounds.high, 's')}"]
            for one in found.percentiles
        ]  # fmt: skip
        many = counted(found.percentiles[0].n, "good answer")
        note = f"of {many}, until the last byte; each bound is right in 95 % of cases"
        table(console, ["percentile", Head("response"), Head("bounds")], rows, title="Response times", note=note)


def availability_words(found: WatchSummary) -> str:
    """The availability so far with its bounds, the lower one rounded down and the upper one up, as a sentence."""
    if found.availability is None or found.availability_bounds is None:
        return "no sample yet"
    low, high = found.availability_bounds.low, found.availability_bounds.high
    return (f"good in {found.n_ok:,} of {counted(found.n, 'sample')}, {percent(found.availability)} "
            f"(at least {percent(low, math.floor)}, at most {percent(high, math.ceil)})")  # fmt: skip


def left_out_words(one: WatchedFolder) -> str:
    """How many samples the answer leaves out, and what it would be with them, as a sentence."""
    found = one.summary
    n, good = found.n + one.unsigned_samples, found.n_ok + one.unsigned_samples - one.unsigned_failed
    left = f"{counted(one.unsigned_samples, 'sample')} {are(one.unsigned_samples)} left out"
    return (f"{left}, of which {one.unsigned_failed:,} failed, as nobody signed them: with them {good:,} of "
            f"{n:,} are good, {percent(good / n)}, as 'cloudcmp sla --unsigned' counts")  # fmt: skip


def _outages(console: Console, found: Sequence[Outage]) -> None:
    rows = [
        [_between(one.good_before, one.first_bad), _between(one.last_bad, one.good_after), one.n, _length(one),
         ", ".join(one.reasons)]
        for one in found[-_MOST_OUTAGES:]
    ]  # fmt: skip
    left = len(found) - len(rows)
    note = "between the good and the failed sample (UTC)" + (f"; {left} earlier ones: --json" if left else "")
    heads: list[str | Head] = [
        Head("began", numeric=False),
        Head("ended", numeric=False),
        Head("failed"),
        Head("lasted"),
        "why",
    ]
    table(console, heads, rows, title="Outages", note=note)


def _between(start: float | None, end: float | None) -> str:
    """Two moments of one day in short, or one with an open side."""
    if start is None:
        return f"before {moment(end)}"
    if end is None:
        return f"after {moment(start)}"
    first, second = moment(start), moment(end)
    return f"{first} to {second[11:] if first[:10] == second[:10] else second}"


def _length(one: Outage) -> str:
    """The shortest and longest time that an outage may have lasted."""
    least = format_seconds(one.last_bad - one.first_bad)
    if one.good_before is None or one.good_after is None:
        return f"{least} or more"
    return f"{least} to {format_seconds(one.good_after - one.good_before)}"


def _evidence(console: Console, one: WatchedFolder) -> None:
    say(console, "")
    heads = counted(one.heads, "head")
    text = f"{counted(one.lines, 'line')}, signed up to line {one.signed_lines} ({heads}) by {one.signer}"
    labelled(console, "EVIDENCE", text)
    if one.unsigned:
        labelled(console, "UNSIGNED", unsigned_words(one), "yellow")
    if one.head_sha256:
        labelled(console, "", f"head {one.signed_lines} {one.head_sha256}")
    for number, what, more in (
        (one.starts - 1, "restart", ""),
        (one.mends, "damaged last line", ", cut off and kept"),
        (one.clock_steps, "step", " of the watcher's clock: times across one cannot be compared"),
    ):
        if number > 0:
            labelled(console, "", f"{counted(number, what)}{more}", "yellow")
    if not one.ended:
        labelled(console, "", "its watcher still runs, or was killed", "yellow")


def verified_words(one: WatchedFolder) -> str:
    """How far a folder of evidence is as it was written and signed."""
    if not one.unsigned:
        return f"{one.folder}: {_all(one.lines)} written and signed"
    return (f"{one.folder}: signed up to line {one.signed_lines}; {_spans(one.unsigned)} chained only: anyone with the "
            "folder could have written them")  # fmt: skip


def _all(lines: int) -> str:
    return "its one line is as it was" if lines == 1 else f"all {lines:,} lines are as they were"


def unsigned_words(one: WatchedFolder) -> str:
    """Which lines nobody signed who wrote them, and why."""
    found = [span for span in one.unsigned if span.last <= one.signed_lines]
    after = [span for span in one.unsigned if span.last > one.signed_lines]
    parts = [f"{_spans(found)} not signed when the watch went on, and were only found there"] if found else []
    parts += [f"{_spans(after)} after the last head"] if after else []
    return "; ".join(parts)


def _spans(spans: Sequence[LineSpan]) -> str:
    """Lines as a subject with its verb: `lines 4 to 60 are`, `line 7 is`."""
    words = [f"{span.first}" if span.first == span.last else f"{span.first} to {span.last}" for span in spans]
    one = len(spans) == 1 and spans[0].first == spans[0].last
    return f"line {words[0]} is" if one else f"lines {', '.join(words)} are"


def percent(share: float, to_whole: Callable[[float], int] = round) -> str:
    """A share near 1 in percent, with two digits of what is missing: 0.99943 is 99.943 %.

    The last digit is rounded by `to_whole`, such as math.floor for a lower bound.
    """
    missing = 1 - share
    digits = 1 if missing <= 0 or missing >= 0.1 else min(6, max(0, -math.floor(math.log10(missing * 100)) + 1))
    # Rounded first to nine more digits, so that 0.9 is not taken for a little less than 90 %.
    return f"{to_whole(round(100 * share * 10**digits, 9)) / 10**digits:.{digits}f} %"


def moment(at: float | None) -> str:
    """A moment for people, UTC to the second."""
    return "?" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
