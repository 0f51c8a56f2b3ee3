"""Imports price lists into the price book, from their providers or from files."""

import hashlib
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from cloudcmp.catalog import hint
from cloudcmp.catalog.parameters import nearest
from cloudcmp.cost.sources.fetchers import FetchedList, address_of
from cloudcmp.cost.sources.fetchers import fetch as fetch_from
from cloudcmp.cost.sources.fields import Unreadable
from cloudcmp.cost.sources.libcloud import bundled_file
from cloudcmp.cost.sources.web import ReportProgress, Web, no_report
from cloudcmp.errors import CloudcmpError, Fault, ProviderFault, UserMistake
from cloudcmp.model.price import How, PriceEntry, PriceList, PriceListImport
from cloudcmp.model.price_lists import FETCHED
from cloudcmp.store.faults import storage
from cloudcmp.store.prices import PriceBook
from cloudcmp.units import format_seconds

LIBCLOUD = "libcloud"
KNOWN = (*FETCHED, LIBCLOUD)
_EVERY_S = 2.0


def fetch(
    providers: Sequence[str], regions: Sequence[str], *, progress: Callable[[str], None] | None = None,
    web: Web | None = None, usual: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[PriceListImport]:  # fmt: skip
    """Fetch the lists of providers, and put each into the price book once it is complete.

    Without `regions`, each provider's `usual` ones, or all of them. `progress` reports every two seconds how much has
    arrived and how long the rest will take. Raises UserMistake for a provider without a source, and ProviderFault for a
    list that does not arrive or has another format; then nothing of it is imported.
    """
    if not providers:
        raise UserMistake.at("cloudcmp fetch", "no provider is named", f"name one of {', '.join(KNOWN)}")
    for name in providers:
        if name not in KNOWN:
            close = nearest(name, KNOWN)
            known = f"nearest: {close}" if close else f"known are {', '.join(KNOWN)}"
            next_ = f"{known}; or name a file: --from FILE --as csv"
            raise UserMistake.at(name, "its prices cannot be fetched", next_)
    tell = DownloadProgress(progress, time.monotonic).update if progress else no_report
    for name in dict.fromkeys(providers):
        if name == LIBCLOUD:
            yield _bundled()
            continue
        with tempfile.TemporaryDirectory(prefix="cloudcmp-prices-") as folder, web or Web(report=tell) as open_web:
            chosen = regions or (usual or {}).get(name, ())
            yield from _fetched(name, chosen, open_web, Path(folder), tell)


def _bundled() -> PriceListImport:
    path = bundled_file()
    if path is None:
        raise UserMistake.at(LIBCLOUD, "apache-libcloud is not installed", "add the extra: cloudcmp[libcloud]")
    return take_in(LIBCLOUD, [path], source="apache-libcloud")


def _fetched(
    name: str, regions: Sequence[str], web: Web, folder: Path, tell: ReportProgress
) -> Iterator[PriceListImport]:
    try:
        for one in fetch_from(name, tuple(dict.fromkeys(regions)), web, folder):
            yield take_in(
                one.kind, one.files, source=one.source, how=How.FETCHED, region=one.region,
                only=_region_filter(one, regions), fault=ProviderFault, tell=tell, may_be_empty=one.partial,
            )  # fmt: skip
    except Unreadable as no:
        place = ", ".join(regions)
        raise ProviderFault(unread(name, place, address_of(name), no.what)) from None


def _region_filter(one: FetchedList, regions: Sequence[str]) -> Callable[[PriceEntry], bool] | None:
    """A filter for rows of the list's region, or of the requested regions if the list has all; None takes every row.

    A region's list must not price other regions: it would take precedence over their own lists.
    """
    if not one.region and not regions:
        return None
    wanted = {one.region, ""} if one.region else {*regions, ""}
    return lambda row: getattr(row, "region", "") in wanted


class DownloadProgress:
    """Reports a download in lines: how much has arrived, and how long the rest will take."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._say, self._clock = say, clock
        self._what = ""
        self._began = self._reported = 0.0

    def update(self, what: str, done: int, whole: int | None) -> None:
        """Report `done` bytes of `whole`, at most every two seconds."""
        now = self._clock()
        if what != self._what:
            self._what, self._began, self._reported = what, now, now
        if now - self._reported < _EVERY_S:
            return
        self._reported = now
        line = f"{what}: {done / 1e6:.0f} MB"
        if whole and done:
            left_s = (now - self._began) * (whole - done) / done
            line += f" of {whole / 1e6:.0f} MB, about {format_seconds(max(0.0, left_s))} left"
        self._say(line)


def kinds() -> tuple[str, ...]:
    """The kinds of price lists that can be read."""
    from cloudcmp.cost.sources.readers import READERS

    return tuple(READERS)


def take_in(
    kind: str, files: Sequence[Path], *, source: str = "", how: How | None = None, as_of: date | None = None,
    now: float | None = None, region: str = "", only: Callable[[PriceEntry], bool] | None = None,
    fault: type[CloudcmpError] = UserMistake, tell: Callable[[str, int, int | None], None] | None = None,
    may_be_empty: bool = False,
) -> PriceListImport:  # fmt: skip
    """Read the files of a list and put it into the book, whole or not at all.

    `tell` reports how many bytes were read, of how many. Raises UserMistake for an unknown kind and a missing file, and
    `fault` for content that is not of that kind, or prices nothing unless it `may_be_empty`.
    """
    from cloudcmp.cost.sources.readers import READERS, entries_of

    if kind not in READERS:
        raise UserMistake.at("--as", f"unknown kind {kind!r}", hint(kind, kinds(), f"known are {', '.join(kinds())}"))
    reader, moment = READERS[kind], time.time() if now is None else now
    try:
        with ExitStack() as stack, PriceBook() as book:
            paths = [stack.enter_context(seekable(path)) for path in files]
            digest, size = _digest(paths)
            head = PriceList(
                provider=reader.provider,
                source=source or f"{reader.source}, {files[0].name}",
                how=(how or reader.how).value,
                fetched_at=moment,
                currency="",
                sha256=digest,
                rows=(),
                published=as_of,
            )
            opened = [stack.enter_context(path.open("rb")) for path in paths]
            rows = _selected(entries_of(kind, opened), only, moment, as_of, may_be_empty=may_be_empty)
            kept = book.put(head, _counted(rows, opened, size, tell, f"reading {head.source}"))
            listed = next(one for one in book.lists() if one.id == kept.list)
    except Unreadable as no:
        raise fault(unread(kind, region, files[0] if fault is UserMistake else head.source, no.what)) from None
    return PriceListImport(kind, head.source, head.how, listed.dated, digest, size, kept.rows, kept.sold, kept.doubts,
                           kept.first, kept.again)  # fmt: skip


def _counted(
    rows: Iterable[PriceEntry], files: Sequence[BinaryIO], size: int,
    tell: Callable[[str, int, int | None], None] | None, what: str,
) -> Iterable[PriceEntry]:  # fmt: skip
    """Pass the rows on, and report progress every thousand rows."""
    for number, one in enumerate(rows):
        if tell is not None and number % 1000 == 999:
            tell(what, sum(file.tell() for file in files), size)
        yield one


def unread(kind: str, region: str, where: object, why: str) -> Fault:
    """The fault of a list that is refused as a whole."""
    place = f"{kind}/{region or 'all regions'} every SKU"
    return Fault(str(where), f"{place}: {why}", "nothing of it was imported")


def _selected(
    rows: Iterable[PriceEntry], only: Callable[[PriceEntry], bool] | None, now: float, as_of: date | None, *,
    may_be_empty: bool,
) -> Iterable[PriceEntry]:  # fmt: skip
    """The requested rows of a list; raises Unreadable if there are none, or the list is dated in the future."""
    latest = (datetime.fromtimestamp(now, UTC) + timedelta(days=1)).date()  # in the easternmost time zone
    if as_of is not None and as_of > latest:
        raise Unreadable(f"it is dated {as_of}, which is still to come")
    found = False
    for one in rows:
        if isinstance(one, date) and one > latest:
            raise Unreadable(f"it is dated {one}, which is still to come")
        if isinstance(one, date) or only is None or only(one):
            found = found or not isinstance(one, date)
            yield one
    if not found and not may_be_empty:
        raise Unreadable("it has no price of anything that a study rents")


def _digest(files: Sequence[Path]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    for path in files:
        try:
            with path.open("rb") as file:
                while part := file.read(1 << 20):
                    digest.update(part)
                    size += len(part)
        except OSError as error:
            what = (error.strerror or str(error)).lower()
            raise UserMistake.at(str(path), what, "name a file with a price list") from None
    return digest.hexdigest(), size


@contextmanager
def seekable(path: Path) -> Iterator[Path]:
    """The path itself, or for a pipe (a FIFO, or /dev/stdin behind one) a copy of its content.

    The copy is a temporary file that is removed at the end. Raises UserMistake for a device, which may never end, and
    StorageFault if there is no room. Faults of other paths are left to the reader.
    """
    try:
        kind = path.stat().st_mode
    except OSError:
        yield path
        return
    if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
        raise UserMistake.at(str(path), "is a terminal or a device", "name a file, or a pipe such as /dev/stdin")
    if not stat.S_ISFIFO(kind):
        yield path
        return
    with storage(path):
        copy = tempfile.NamedTemporaryFile(prefix="cloudcmp-")  # noqa: SIM115 - closed below, outside of `storage`
    with copy:
        with storage(path), path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy, 1 << 20)
            copy.flush()
        yield Path(copy.name)
