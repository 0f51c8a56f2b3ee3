"""The sheet of delivered over advertised rates: what the provider promises, and how much of it was measured."""

from collections.abc import Callable

from cloudcmp.compare.advertised import OPERATION_MOST_BYTES, PAYLOAD_LEAST, THROUGHPUT_LEAST_BYTES
from cloudcmp.model.promise import Delivered, Delivery, Promise, Promised
from cloudcmp.model.result import Bounds
from cloudcmp.report.numbers import UNKNOWN, known
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets.sheet import Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import parse_cell
from cloudcmp.units import format_quantity

TITLE = "Delivered over advertised"
NOTE = (
    "Delivered: the fastest measured setting of each place, median over launches with its 95 % interval, which is not "
    "corrected for that choice. The network's is TCP payload: headers are not counted, so a full line of 10 Gbit/s "
    f"shows as {10 * PAYLOAD_LEAST:.2f} Gbit/s (1500 B packets, all overhead counted) or more. A level is reached if "
    f"the whole interval lies from 3 % below to 3 % above it, for the network from 3 % below "
    f"{100 * PAYLOAD_LEAST:.0f} % of it. Throughput: sequential, or blocks of at least "
    f"{THROUGHPUT_LEAST_BYTES // 1024} KiB; operations: random, at most {OPERATION_MOST_BYTES // 1024} KiB; "
    "both past the page cache."
)
_WHAT = {
    Promised.NETWORK: "network",
    Promised.VOLUME_THROUGHPUT: "volume throughput",
    Promised.VOLUME_IOPS: "volume operations",
    Promised.DISK_THROUGHPUT: "own disk's throughput",
    Promised.DISK_IOPS: "own disk's operations",
}
_KINDS = {
    Delivery.AT_CAP: "same", Delivery.AT_BASELINE: "same", Delivery.ABOVE: "better", Delivery.BELOW: "worse",
    Delivery.UNDER_CAP: "", Delivery.UNDECIDED: "unsure",
}  # fmt: skip


def rate_words(of: Promised, rate: float | None) -> str:
    """A rate in the unit of its promise: `12.5 Gbit/s`, `594 MB/s`, `3000 op/s`; a dash if unknown."""
    if not known(rate):
        return UNKNOWN
    if of is Promised.NETWORK:
        return format_quantity(rate * 8, "bit/s")
    return f"{rate:.0f} op/s" if of.unit == "op/s" else format_quantity(rate, "B/s")


def promise_words(one: Promise) -> str:
    """Both rates of a promise: `781 Mbit/s, up to 12.5 Gbit/s`."""
    highest = one.up_to if one.up_to != one.baseline else None
    parts = (rate_words(one.of, one.baseline) if known(one.baseline) else "",
             f"up to {rate_words(one.of, highest)}" if known(highest) else "")  # fmt: skip
    return ", ".join(filter(None, parts))


def kind_words(one: Promise) -> str:
    """What a promise is of: `network`, `volume operations (read)`."""
    return f"{_WHAT[one.of]}{f' ({one.op})' if one.op else ''}"


def source_words(one: Promise) -> str:
    """The source of a promise and its date."""
    return f"{one.source}, {one.as_of.isoformat() if one.as_of else 'undated'}"


def delivery_words(one: Delivered) -> str:
    """What the interval says of the promise: `runs into the promised cap of 10.0 Gbit/s`."""
    of, promise = one.promise.of, one.promise
    cap, baseline = rate_words(of, promise.cap), rate_words(of, promise.baseline)
    past = f"above the promised baseline of {baseline}, " if known(promise.baseline) else ""
    words = {
        Delivery.AT_CAP: f"runs into the promised cap of {cap}",
        Delivery.AT_BASELINE: f"runs into the promised baseline of {baseline}",
        Delivery.ABOVE: f"more than the promised {cap}",
        Delivery.BELOW: f"less than the promised baseline of {baseline}",
        Delivery.UNDER_CAP: f"{past}under the promised cap of {cap}",
        Delivery.UNDECIDED: f"cannot tell yet: {one.reason}",
    }
    others = f"; so do {one.alike} of {one.settings - 1} other settings" if one.alike else ""
    return f"{words[one.delivery]}{others}"


def _interval(bounds: Bounds | None, shown: Callable[[float], str]) -> str:
    return "no interval" if bounds is None else f"{shown(bounds.low)} to {shown(bounds.high)}"


def _share(value: float | None, bounds: Bounds | None) -> Field:
    if not known(value):
        return Field(UNKNOWN)
    return Field(f"{100 * value:.1f} %", _interval(bounds, lambda end: f"{100 * end:.1f} %"))


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """Return each promised rate with what was delivered of it; empty if nothing promised was measured."""
    found = study.view.delivered
    if not found:
        return ()
    rows: list[Row] = []
    for candidate in dict.fromkeys(one.candidate for one in found):
        rows.append(heading(study.candidates[candidate].id))
        rows += [_row(study, one) for one in found if one.candidate == candidate]
    columns = (
        Column("promised"), Column("measured"), Column("delivered", True), Column("of the baseline", True),
        Column("of up to", True), Column("what it says"),
    )  # fmt: skip
    return (Sheet(captioned(study.origin, TITLE), columns, tuple(rows), NOTE),)


def _row(study: StudyView, one: Delivered) -> Row:
    of, promise = one.promise.of, one.promise
    words = f'"{promise.words}"' if promise.words else ""
    fastest = f"the fastest of {one.settings} settings, " if one.settings > 1 else ""
    return row(
        Field(f"{kind_words(promise)}: {promise_words(promise)}", source_words(promise), more=words),
        Field(study.names.short(one.cell), f"{fastest}n {one.n}"),
        Field(rate_words(of, one.value), _interval(one.bounds, lambda end: rate_words(of, end))),
        _share(one.of_baseline, one.of_baseline_bounds),
        _share(one.of_up_to, one.of_up_to_bounds),
        Field(delivery_words(one), kind=_KINDS[one.delivery]),
    )


def brief(study: StudyView, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The same for a terminal: candidate, promise, delivered, its share of the cap, and what it says."""
    lines: list[tuple[str, ...]] = []
    for one in study.view.delivered:
        highest = one.of_baseline if one.of_up_to is None else one.of_up_to
        cell = parse_cell(one.cell)
        where = cell.get("op") or f"path {cell.get('path')}"
        lines.append(
            (names[one.candidate], f"{_WHAT[one.promise.of]} ({where}) {promise_words(one.promise)}",
             rate_words(one.promise.of, one.value), UNKNOWN if highest is None else f"{100 * highest:.0f} %",
             delivery_words(one))
        )  # fmt: skip
    return lines
