"""Prints what a watch has seen: availability first, then outages, response times, what an hour would need, evidence."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from cloudcmp.model.watch_summary import Outage, WatchedFolder, WatchSummary
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import format_quantity, format_seconds

_MOST_OUTAGES = 20


def show_watched(console: Console, folders: Sequence[WatchedFolder], *, verified: bool = False) -> None:
    """Print what each folder of evidence holds; `verified` says first that it is as it was written."""
    for at, one in enumerate(folders):
        if at:
            say(console, "")
        if verified:
            say(console, f"{one.folder}: all {one.lines} lines are as they were written and signed", "bold")
        else:
            say(console, one.folder, "bold")
        _summary(console, one.summary)
        _evidence(console, one)


def _summary(console: Console, found: WatchSummary) -> None:
    labelled(console, "ANSWER", f"{found.target}: {availability_words(found)}", "bold")
    if found.gaps:
        text = f"{found.gaps}, {format_seconds(found.gap_s)} in all, in which nobody looked: neither up nor down"
        labelled(console, "GAPS", text, "yellow")
    if found.n:
        here, *more = found.hour
        needs = ", ".join(f"{one.proves * 100:g} % needs one every {format_quantity(one.every_s, 's')}" for one in more)
        text = f"{here.samples} samples without a failure prove {percent(here.proves)}; {needs}"
        labelled(console, "AN HOUR", text)
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
        table(console, ["percentile", Head("response"), Head("95 % interval")], rows, title="Response times",
              note=f"of {found.percentiles[0].n} good answers; until the last byte")  # fmt: skip


def availability_words(found: WatchSummary) -> str:
    """The availability so far with its interval, as a sentence."""
    if found.availability is None or found.availability_bounds is None:
        return "no sample yet"
    low, high = found.availability_bounds.low, found.availability_bounds.high
    return (f"good in {found.n_ok} of {found.n} samples, {percent(found.availability)} "
            f"({percent(low)} to {percent(high)})")  # fmt: skip


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
    later = one.lines - one.signed_lines
    text = f"{one.lines} lines, signed up to line {one.signed_lines} ({one.heads} heads) by {one.signer}"
    labelled(console, "EVIDENCE", text + (f"; {later} later ones are not signed yet" if later else ""))
    if one.head_sha256:
        labelled(console, "", f"head {one.signed_lines} {one.head_sha256}")
    for number, what in (
        (one.starts - 1, "restarts"),
        (one.mends, "damaged last lines that were cut off and kept"),
        (one.clock_steps, "steps of the watcher's clock: times across one cannot be compared"),
    ):
        if number > 0:
            labelled(console, "", f"{number} {what}", "yellow")
    if not one.ended:
        labelled(console, "", "its watcher still runs, or was killed", "yellow")


def percent(share: float) -> str:
    """A share near 1 in percent, with two digits of what is missing, rounded to the nearest: 0.99943 is 99.943 %."""
    missing = 1 - share
    digits = 1 if missing <= 0 or missing >= 0.1 else min(6, max(0, -math.floor(math.log10(missing * 100)) + 1))
    return f"{100 * share:.{digits}f} %"


def moment(at: float | None) -> str:
    """A moment for people, UTC to the second."""
    return "?" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
