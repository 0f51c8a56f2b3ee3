"""Price lists on their way into the price book."""

import hashlib
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from cloudcmp.catalog import hint
from cloudcmp.cost.sources.base import Unreadable
from cloudcmp.errors import CloudcmpError, Fault, UserMistake
from cloudcmp.model.price import How, PriceList, Told
from cloudcmp.store.faults import storage
from cloudcmp.store.prices import Kept, PriceBook


@dataclass(frozen=True, slots=True)
class AcceptedList:
    """A list that was taken into the book: where it came from, of which day, and what became of it."""

    kind: str
    source: str
    how: str
    dated: date | None
    sha256: str
    bytes: int
    kept: Kept


def kinds() -> tuple[str, ...]:
    """The kinds of price lists that can be read."""
    from cloudcmp.cost.sources.readers import READERS

    return tuple(READERS)


def take_in(
    kind: str, files: Sequence[Path], *, source: str = "", how: How | None = None, as_of: date | None = None,
    now: float | None = None, region: str = "", only: Callable[[Told], bool] | None = None,
    fault: type[CloudcmpError] = UserMistake, tell: Callable[[str, int, int | None], None] | None = None,
) -> AcceptedList:  # fmt: skip
    """Read the files of a list and put it into the book, in whole or not at all.

    `tell` is told how many bytes were read, of how many. Raises UserMistake for an unknown kind and a file that is not
    there, and `fault` for what cannot be read as that kind; a list that prices nothing is none.
    """
    from cloudcmp.cost.sources.readers import READERS, told_by

    if kind not in READERS:
        raise UserMistake.at("--as", f"unknown kind {kind!r}", hint(kind, kinds(), f"known are {', '.join(kinds())}"))
    reader, moment = READERS[kind], time.time() if now is None else now
    try:
        with ExitStack() as stack, PriceBook() as book:
            paths = [stack.enter_context(again(path)) for path in files]
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
            told = _counted(
                _some(told_by(kind, opened), only, moment, as_of), opened, size, tell, f"reading {head.source}"
            )
            kept = book.put(head, told)
            listed = next(one for one in book.lists() if one.id == kept.list)
    except Unreadable as no:
        raise fault(unread(kind, region, files[0] if fault is UserMistake else head.source, no.what)) from None
    return AcceptedList(kind, head.source, head.how, listed.dated, digest, size, kept)


def _counted(
    told: Iterable[Told], files: Sequence[BinaryIO], size: int, tell: Callable[[str, int, int | None], None] | None,
    what: str,
) -> Iterable[Told]:  # fmt: skip
    """The same, telling every thousand rows how far it is."""
    for number, one in enumerate(told):
        if tell is not None and number % 1000 == 999:
            tell(what, sum(file.tell() for file in files), size)
        yield one


def unread(kind: str, region: str, where: object, why: str) -> Fault:
    """The one line of a list that is refused in whole."""
    place = f"{kind}/{region or 'all regions'} every SKU"
    return Fault(str(where), f"{place}: {why}", "nothing of it was taken")


def _some(told: Iterable[Told], only: Callable[[Told], bool] | None, now: float, as_of: date | None) -> Iterable[Told]:
    """What is wanted of a list; raises Unreadable where that is nothing, or the list is of a day to come."""
    latest = (datetime.fromtimestamp(now, UTC) + timedelta(days=1)).date()  # where it is tomorrow already
    if as_of is not None and as_of > latest:
        raise Unreadable(f"it is dated {as_of}, which is still to come")
    found = False
    for one in told:
        if isinstance(one, date) and one > latest:
            raise Unreadable(f"it is dated {one}, which is still to come")
        if isinstance(one, date) or only is None or only(one):
            found = found or not isinstance(one, date)
            yield one
    if not found:
        raise Unreadable("it prices nothing that a study rents")


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
def again(path: Path) -> Iterator[Path]:
    """The path itself, or of a pipe (a FIFO, or /dev/stdin behind one) a copy of all that comes through it.

    The copy is made where the system has its temporary files, and is removed at the end. Raises UserMistake for a
    device, which may never end, StorageFault where there is no room. What is wrong with another path is told by whoever
    reads it.
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
        copy = NamedTemporaryFile(prefix="cloudcmp-")  # noqa: SIM115 - closed below: faults of the caller are not ours
    with copy:
        with storage(path), path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy, 1 << 20)
            copy.flush()
        yield Path(copy.name)
