"""Fetching price lists from where their providers publish them, into the price book."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cloudcmp.app.price_lists import AcceptedList, take_in, unread
from cloudcmp.catalog.parameters import nearest
from cloudcmp.cost.lookup import FETCHED
from cloudcmp.cost.sources.base import Unreadable
from cloudcmp.cost.sources.fetchers import Fetched, address_of
from cloudcmp.cost.sources.fetchers import fetch as fetch_from
from cloudcmp.cost.sources.libcloud import bundled_file
from cloudcmp.cost.sources.web import Tell, Web, silent
from cloudcmp.errors import ProviderFault, UserMistake
from cloudcmp.model.price import How, Told
from cloudcmp.units import format_seconds

LIBCLOUD = "libcloud"
KNOWN = (*FETCHED, LIBCLOUD)
_EVERY_S = 2.0


def fetch(
    providers: Sequence[str], regions: Sequence[str], *, progress: Callable[[str], None] | None = None,
    web: Web | None = None,
) -> Iterator[AcceptedList]:  # fmt: skip
    """Fetch the lists of providers, and put each into the price book once it is whole.

    `progress` is told every two seconds what comes and how long it will take. Raises UserMistake for what cannot be
    fetched, and ProviderFault with one line for a list that does not come, or is not one: nothing of it is taken then.
    """
    if not providers:
        raise UserMistake.at("cloudcmp fetch", "no provider is named", f"name one of {', '.join(KNOWN)}")
    for name in providers:
        if name not in KNOWN:
            close = nearest(name, KNOWN)
            known = f"nearest: {close}" if close else f"known are {', '.join(KNOWN)}"
            next_ = f"{known}; or name a file: --from FILE --as csv"
            raise UserMistake.at(name, "its prices cannot be fetched", next_)
    tell = Pace(progress, time.monotonic).told if progress else silent
    for name in dict.fromkeys(providers):
        if name == LIBCLOUD:
            yield _bundled()
            continue
        with tempfile.TemporaryDirectory(prefix="cloudcmp-prices-") as folder, web or Web(tell=tell) as open_web:
            yield from _fetched(name, regions, open_web, Path(folder), tell)


def _bundled() -> AcceptedList:
    path = bundled_file()
    if path is None:
        raise UserMistake.at(LIBCLOUD, "apache-libcloud is not installed", "add the extra: cloudcmp[libcloud]")
    return take_in(LIBCLOUD, [path], source="apache-libcloud")


def _fetched(name: str, regions: Sequence[str], web: Web, folder: Path, tell: Tell) -> Iterator[AcceptedList]:
    try:
        for one in fetch_from(name, tuple(dict.fromkeys(regions)), web, folder):
            yield take_in(
                one.kind, one.files, source=one.source, how=How.FETCHED, region=one.region,
                only=_of(one, regions), fault=ProviderFault, tell=tell,
            )  # fmt: skip
    except Unreadable as no:
        place = ", ".join(regions)
        raise ProviderFault(unread(name, place, address_of(name), no.what)) from None


def _of(one: Fetched, regions: Sequence[str]) -> Callable[[Told], bool] | None:
    """Whether a row is of the region of its list, or of the regions that were asked for where a list has them all.

    A region's list tells nothing of another one: it would stand before that one's own.
    """
    if not one.region and not regions:
        return None
    wanted = {one.region, ""} if one.region else {*regions, ""}
    return lambda told: getattr(told, "region", "") in wanted


class Pace:
    """Turns bytes into lines for people: how much came, and how long the rest will take."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say, self._clock = say, clock
        self._what = ""
        self._began = self._said = 0.0

    def told(self, what: str, done: int, whole: int | None) -> None:
        """So many bytes came, of as many as there are."""
        now = self._clock()
        if what != self._what:
            self._what, self._began, self._said = what, now, now
        if now - self._said < _EVERY_S:
            return
        self._said = now
        line = f"{what}: {done / 1e6:.0f} MB"
        if whole and done:
            left_s = (now - self._began) * (whole - done) / done
            line += f" of {whole / 1e6:.0f} MB, about {format_seconds(max(0.0, left_s))} left"
        self._say(line)
