"""The table of readers: which one reads what, and whether its answers come in pages."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from cloudcmp.cost.sources import aws, azure, custom_list, gcp, libcloud, sparecores
from cloudcmp.cost.sources.fields import Unreadable
from cloudcmp.model.price import How, PriceEntry


@dataclass(frozen=True, slots=True)
class Reader:
    """How a kind of list is read, file by file; `next_of` tells where a page's next one is, empty at the end.

    `how` is what a file of the kind is when a user names one. `provider` is empty where the rows have several. `whole`
    puts right what only all pages together tell.
    """

    source: str
    read: Callable[[BinaryIO], Iterator[PriceEntry]]
    provider: str = ""
    how: How = How.RECORDED
    next_of: Callable[[BinaryIO], str] | None = None
    whole: Callable[[Iterable[PriceEntry]], Iterator[PriceEntry]] | None = None


READERS: dict[str, Reader] = {
    "aws": Reader(aws.SOURCE, aws.read, "aws"),
    "azure": Reader(azure.SOURCE, azure.read, "azure", next_of=azure.next_of, whole=azure.tiered),
    "gcp": Reader(gcp.SOURCE, gcp.read, "gcp", next_of=gcp.next_of),
    "sparecores": Reader("sparecores.com", sparecores.read, how=How.BUNDLED),
    "libcloud": Reader("apache-libcloud", libcloud.read, how=How.BUNDLED),
    "csv": Reader("own list", custom_list.read, how=How.GIVEN),
}


def told_by(kind: str, files: Sequence[BinaryIO]) -> Iterator[PriceEntry]:
    """What the files of a list tell, in their order; raises Unreadable where the last of its pages is missing."""
    reader = READERS[kind]
    entries = _paged(reader, files)
    yield from reader.whole(entries) if reader.whole else entries


def _paged(reader: Reader, files: Sequence[BinaryIO]) -> Iterator[PriceEntry]:
    for at, file in enumerate(files):
        if reader.next_of is not None:
            more = bool(reader.next_of(file))
            file.seek(0)
            if more != (at + 1 < len(files)):
                raise Unreadable("it goes on with a page that is not there" if more else "a page after its last one")
        yield from reader.read(file)
