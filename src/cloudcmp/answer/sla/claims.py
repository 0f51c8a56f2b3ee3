"""Claims about a service level, such as `availability >= 99.9 % a month` or `p99 <= 300 ms over 1 month`."""

import re
from dataclasses import replace

import numpy as np

from cloudcmp import units
from cloudcmp.answer.choice.needs import Need, Op, number_of, parse_need
from cloudcmp.errors import UserMistake
from cloudcmp.model.market import Numbers
from cloudcmp.model.metric import Metric
from cloudcmp.model.service_level import Calendar, Claim, Quantity, Statistic, Window

WHERE = "--claim"
EXAMPLE = "p99 <= 300 ms over 1 month"
_WINDOW = re.compile(
    r"(?P<rest>.*?)\s+(?:(?:over|in|within|per|each|every)(?:\s+an?|\s+each)?|an?)\s+(?P<window>(?:\d+\s+)?[a-z]+)\s*"
)
_SPAN = re.compile(r"(?:(?P<count>\d+)\s+)?(?P<unit>hour|day|week|month|year|h|d)s?")
_UNITS = {"h": Calendar.HOUR, "d": Calendar.DAY}
_MOST = {Calendar.HOUR: 24, Calendar.DAY: 366, Calendar.WEEK: 52, Calendar.MONTH: 12, Calendar.YEAR: 1}
_PERCENTILE = re.compile(r"p(?P<percent>\d+(?:\.\d+)?)", re.IGNORECASE)
_STATISTICS = {
    "mean": Statistic.MEAN, "average": Statistic.MEAN, "max": Statistic.MAXIMUM, "maximum": Statistic.MAXIMUM,
    "min": Statistic.MINIMUM, "minimum": Statistic.MINIMUM,
}  # fmt: skip
_RESPONSES = {"", "response", "response time", "latency"}
_AVAILABILITIES = {"availability", "uptime"}


def parse_claim(text: str) -> Claim:
    """Parse a claim: `[p99|median|mean|max|min] [availability|response|CELL] <=|>= VALUE [over WINDOW]`.

    The limit of a cell is read by `bound_claim`, which knows its unit. Raises UserMistake for any other text, for an
    availability above 100 %, and for a limit that nothing can break.
    """
    found = _WINDOW.fullmatch(text)
    window = None if found is None else _window(found["window"])
    need = parse_need(text.strip() if window is None or found is None else found["rest"], WHERE, EXAMPLE)
    if need.op not in {Op.AT_LEAST, Op.AT_MOST, Op.ABOVE, Op.BELOW}:
        raise _mistake(text, "bounds nothing from one side", f"write e.g. '{EXAMPLE}'")
    statistic, percent, name = _statistic(need)
    at_most = not need.is_least
    claim = Claim(text.strip(), Quantity.MEASURED, statistic or Statistic.MEAN, at_most,
                  need.op in {Op.ABOVE, Op.BELOW}, need.values[0], name, percent, window=window)  # fmt: skip
    if name.casefold() in _AVAILABILITIES:
        if statistic is not None and statistic is not Statistic.MEAN:
            raise _mistake(text, "availability is a share and has no percentile", "write 'availability >= 99.9 %'")
        return _availability(replace(claim, quantity=Quantity.AVAILABILITY, statistic=Statistic.SHARE, name=""))
    if name.casefold() in _RESPONSES:
        if statistic is None:
            raise _mistake(text, "names no figure of the response time", f"write e.g. '{EXAMPLE}', mean or max")
        return _response(replace(claim, quantity=Quantity.RESPONSE, name=""))
    if statistic is None:
        raise _mistake(text, f"names no figure of {name!r}", f"write e.g. 'mean {name} {need.op} {need.values[0]}'")
    return claim


def is_of_watch(claim: Claim) -> bool:
    """True if samples of a watch can tell of a claim: about availability, response time or `throughput`."""
    return claim.quantity is not Quantity.MEASURED or claim.name.casefold() == Quantity.THROUGHPUT


def of_watch(claim: Claim) -> Claim:
    """Return a claim as one about a watch, which says what a throughput is: bytes a second of each answer.

    A study may have a measurement of this name in another unit. Raises UserMistake for a limit that nothing can break.
    """
    if claim.quantity is not Quantity.MEASURED:
        return claim
    try:
        limit = units.parse_rate(claim.limit_text)
    except ValueError as error:
        raise UserMistake.at(WHERE, *str(error).split("; ", 1)) from None
    if limit <= 0:
        raise _mistake(claim.text, "has no throughput above zero", "write e.g. 'p5 throughput >= 1 MB/s'")
    if claim.at_most or claim.statistic is Statistic.MAXIMUM:
        raise _mistake(claim.text, "asks for slow answers", "write e.g. 'p5 throughput >= 1 MB/s'")
    return replace(claim, quantity=Quantity.THROUGHPUT, name="", limit=limit)


def bound_claim(claim: Claim, cell: str, metric: Metric) -> Claim:
    """Return a claim about a measured quantity with its limit in the unit of the metric; raises UserMistake."""
    need = Need(claim.text, cell, Op.AT_MOST if claim.at_most else Op.AT_LEAST, (claim.limit_text,))
    column = Numbers(metric.name, np.empty(0), metric.unit, metric.better)
    return replace(claim, name=cell, limit=number_of(need, column, WHERE))


def _window(text: str) -> Window | None:
    """The window that words name; None if they belong to the value."""
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    unit = _UNITS.get(found["unit"]) or Calendar(found["unit"])
    count = int(found["count"] or 1)
    if not 1 <= count <= _MOST[unit]:
        raise UserMistake.at(WHERE, f"a window of {text!r}", f"write 1 to {_MOST[unit]} {unit.value}s")
    return Window(count, unit)


def _statistic(need: Need) -> tuple[Statistic | None, float | None, str]:
    """The statistic that the first or last word of a name is, its percentage, and the rest of the name."""
    words = need.name.split()
    for at in (0, -1) if words else ():
        word = words[at].casefold()
        rest = " ".join(words[1:] if at == 0 else words[:-1])
        if word == "median":
            return Statistic.PERCENTILE, 50.0, rest
        if word in _STATISTICS:
            return _STATISTICS[word], None, rest
        if found := _PERCENTILE.fullmatch(word):
            percent = float(found["percent"])
            if not 0 < percent < 100:
                raise _mistake(need.text, f"has no percentile between 0 and 100: {word}", "write e.g. p99, or max")
            return Statistic.PERCENTILE, percent, rest
    return None, None, need.name


def _availability(claim: Claim) -> Claim:
    try:
        share = units.parse_ratio(claim.limit_text)
    except ValueError as error:
        raise UserMistake.at(WHERE, *str(error).split("; ", 1)) from None
    if share > 1:
        raise _mistake(claim.text, f"asks for an availability of {share * 100:g} %, above 100 %", "write e.g. '99.9 %'")
    if claim.at_most or share <= 0:
        raise _mistake(claim.text, "asks for no least availability", "write e.g. 'availability >= 99.9 % a month'")
    return replace(claim, limit=round(share, 12))


def _response(claim: Claim) -> Claim:
    try:
        seconds = units.parse_seconds(claim.limit_text)
    except ValueError as error:
        raise UserMistake.at(WHERE, *str(error).split("; ", 1)) from None
    if seconds <= 0:
        raise _mistake(claim.text, "has no time above zero", f"write e.g. '{EXAMPLE}'")
    if not claim.at_most or claim.statistic is Statistic.MINIMUM:
        raise _mistake(claim.text, "asks for slow answers", f"write e.g. '{EXAMPLE}'")
    return replace(claim, limit=seconds)


def _mistake(text: str, what: str, advice: str) -> UserMistake:
    return UserMistake.at(WHERE, f"{text.strip()!r} {what}", advice)
