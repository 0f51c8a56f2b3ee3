"""The table of readers: which one reads which kind of list, and whether a list has pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from cloudcmp.cost.sources import aws, azure, custom_list, gcp, libcloud, sparecores
from cloudcmp.cost.sources.fields import Unreadable
from cloudcmp.model.price import How, PriceEntry


@dataclass(frozen=True, slots=True)
class Reader:
    """How a kind of list is read, file by file.

    `next_of` returns where a page's next one is, empty at the end. `how` applies if a user names a file. `provider` is
    empty if the rows have several. `combine` corrects what only all pages together show.
    """

    source: str
    read: Callable[[BinaryIO], Iterator[PriceEntry]]
    provider: str = ""
    how: How = How.RECORDED
    next_of: Callable[[BinaryIO], str] | None = None
    combine: Callable[[Iterable[PriceEntry]], Iterator[PriceEntry]] | None = None


READERS: dict[str, Reader] = {
    "aws": Reader(aws.SOURCE, aws.read, "aws"),
    "azure": Reader(azure.SOURCE, azure.read, "azure", next_of=azure.next_of, combine=azure.with_tier_ends),
    "gcp": Reader(gcp.SOURCE, gcp.read, "gcp", next_of=gcp.next_of),
    "sparecores": Reader("sparecores.com", sparecores.read, how=How.BUNDLED),
    "libcloud": Reader("apache-libcloud", libcloud.read, how=How.BUNDLED),
    "csv": Reader("own list", custom_list.read, how=How.GIVEN),
}


def entries_of(kind: str, files: Sequence[BinaryIO]) -> Iterator[PriceEntry]:
    """Yields the entries of a list's files in order; raises Unreadable if its last page is missing."""
    reader = READERS[kind]
    entries = _entries_of_pages(reader, files)
    yield from reader.combine(entries) if reader.combine else entries


def _entries_of_pages(reader: Reader, files: Sequence[BinaryIO]) -> Iterator[PriceEntry]:
    for at, file in enumerate(files):
        if reader.next_of is not None:
            more = bool(reader.next_of(file))
            file.seek(0)
            if more != (at + 1 < len(files)):
                raise Unreadable("it goes on with a page that is not there" if more else "a page after its last one")
        yield from reader.read(file)
