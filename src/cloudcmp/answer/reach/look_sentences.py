"""What a quick look at URLs found, in words."""

from collections.abc import Collection, Iterator, Sequence

from cloudcmp.model.reach import Look
from cloudcmp.model.wide_area import Phase
from cloudcmp.units import format_quantity


def look_headline(looks: Sequence[Look], vantage: str, elsewhere: Collection[str]) -> str:
    """The nearest URL by its round trip, if its interval lies below all others, or that this cannot be told.

    `elsewhere` are the sites that answered sooner than light could come from where they are stated to be: what answers
    is not there, and no time of that site.
    """
    answered = [one for one in looks if one.time(Phase.RTT) is not None]
    seen = sorted(
        ((time, one) for one in answered
         if (time := one.time(Phase.RTT)) is not None and str(one.site) not in elsewhere),
        key=lambda pair: pair[0].median_s,
    )  # fmt: skip
    if not seen and answered:
        return f"What answered is nearer to {vantage} than the stated regions are"
    if not seen:
        return f"Nothing answered that was asked from {vantage}"
    (first, nearest), *others = seen
    told = f"{format_quantity(first.median_s, 's')} a round trip"
    if len(looks) == 1:
        return f"{nearest.site} is {told} from {vantage}"
    unsure = [
        one for time, one in others
        if first.bounds is None or time.bounds is None or time.bounds.low <= first.bounds.high
    ]  # fmt: skip
    if unsure:
        names = ", ".join(str(one.site) for one in (nearest, *unsure))
        return f"Cannot tell yet which is nearest to {vantage}: {names}"
    silent, nearer = len(looks) - len(answered), len(answered) - len(seen)
    more = [f"{silent} did not answer"] * bool(silent) + [f"{nearer} answered from elsewhere"] * bool(nearer)
    return "; ".join([f"{nearest.site} is nearest to {vantage}: {told}", *more])


def look_lines(looks: Sequence[Look]) -> Iterator[tuple[str, str]]:
    """Yield a line for each URL from which no page came, with the reason."""
    label = "FAILED"
    for one in looks:
        if one.why:
            yield label, f"{one.site}: {one.why}"
            label = ""


def look_cautions(looks: Sequence[Look]) -> Iterator[str]:
    """Yield what a reader must know beside the figures of looks."""
    yield "a look of some seconds: its intervals say nothing of other hours, and of no other place"
    by_connecting = [str(one.site) for one in looks if one.rtt_by and one.rtt_by != "icmp"]
    if by_connecting:
        yield f"no echo came back from {', '.join(by_connecting)}: there a round trip is the time to connect"
    lost = [f"{one.site} ({one.started - one.pages} of {one.started})" for one in looks if 0 < one.pages < one.started]
    if lost:
        yield f"some pages did not come whole, and have no times: {', '.join(lost)}"
