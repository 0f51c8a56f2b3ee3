"""Price lists for the first study: whose are missing, and fetching them without letting a failure stop it."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cloudcmp.app.fetch import Pace, fetch
from cloudcmp.app.provider_clients import brief
from cloudcmp.app.start import Seen, by_price_list
from cloudcmp.cost.sources.web import Tell, Web
from cloudcmp.errors import CloudcmpError, ProviderFault
from cloudcmp.study import starter
from cloudcmp.study.starter import Answers
from cloudcmp.units import format_seconds

DEADLINE_S = 600.0
"""How long the lists of one cloud may take; a region's list of Amazon has hundreds of megabytes."""
_IDLE_S = 15.0


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of the price list of a cloud: how many prices came, or in `fault` a line that says why none did."""

    provider: str
    region: str
    prices: int
    fault: str = ""

    def line(self) -> str:
        """It as one line."""
        if self.fault:
            return f"no prices of {self.provider} were fetched, it goes on without: {self.fault}"
        return f"fetched {self.prices:,} prices of {self.provider} in {self.region}"


def wanted(told: Answers, seen: Sequence[Seen], fetch_now: bool | None) -> tuple[tuple[str, str], ...]:
    """Clouds whose price list is to be fetched, with the region near the users.

    Of the clouds whose credentials are here: those of which the price book knows no price of that size, or with
    `fetch_now` all of them. Without credentials of any, it is all clouds where `fetch_now` says so, else none.
    """
    if fetch_now is False:
        return ()
    usable = [one.provider for one in seen if one.usable]
    if fetch_now:
        return tuple((name, starter.region_of(told.users, name)) for name in usable or starter.CLOUDS)
    return tuple(pair for pair in by_price_list(told)[1] if pair[0] in usable) if usable else ()


def bring(
    wanted: Sequence[tuple[str, str]], say: Callable[[str], None], within_s: float = DEADLINE_S
) -> Iterator[Brought]:
    """Fetch the price lists of clouds in a region, one cloud after the other; each failure is told, none is raised."""
    for name, region in wanted:
        say(f"fetching the price list of {name} in {region}, for {format_seconds(within_s)} at most")
        tell = _until(Pace(say, time.monotonic).told, within_s)
        web = Web(idle_s=min(_IDLE_S, within_s), deadline_s=within_s, tell=tell)
        try:
            prices = sum(one.kept.rows for one in fetch([name], [region], progress=say, web=web))
            yield Brought(name, region, prices)
        except (CloudcmpError, OSError, ImportError) as fault:
            yield Brought(name, region, 0, brief(fault))


def _until(tell: Tell, within_s: float) -> Tell:
    """The same, which ends the fetching of several lists where together they take too long."""
    ends = time.monotonic() + within_s

    def told(what: str, done: int, whole: int | None) -> None:
        if time.monotonic() > ends:
            raise ProviderFault.at(what, f"the lists took longer than {within_s:g} s", "try again with cloudcmp fetch")
        tell(what, done, whole)

    return told
