"""The cells of inventories, parsed from text: numbers, shares, days, names of clouds, identities of resources."""

import math
import re
from datetime import date

from cloudcmp.errors import Fault
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.store.tidy_agree import number_of

MOST_FAULTS = 20
_LONGEST = 200
_ARN = re.compile(r"arn:aws[a-z-]*:ec2:[^:]*:[^:]*:instance/(?P<id>i-[0-9a-f]+)")
_CLOUDS = {
    "amazon": "aws", "amazon web services": "aws", "aws": "aws", "amazon web services, inc.": "aws",
    "microsoft": "azure", "microsoft azure": "azure", "azure": "azure", "microsoft corporation": "azure",
    "google": "gcp", "google cloud": "gcp", "google cloud platform": "gcp", "gcp": "gcp",
    "alibaba cloud": "alicloud",
}  # fmt: skip
_LINUX = frozenset({"", "linux", "linux/unix", "linux/unix (amazon vpc)", "unix", "ubuntu", "debian", "free"})


class BadCell(Exception):
    """A cell cannot be read: what it is, and what to write instead."""

    def __init__(self, what: str, next: str) -> None:
        super().__init__(what)
        self.what, self.next = what, next

    def at(self, place: str) -> Fault:
        """The fault at a place."""
        return Fault(place, self.what, self.next)


def name(text: str) -> str:
    """A name as one clean line."""
    return one_line(text, _LONGEST)


def cloud(text: str) -> str:
    """The provider's name in this program for the one in a bill; others stay, in lower case."""
    plain = name(text).casefold()
    return _CLOUDS.get(plain, plain)


def identity(text: str) -> str:
    """The identity of a resource: of an EC2 instance its id, else the whole name in lower case."""
    plain = name(text).casefold()
    found = _ARN.fullmatch(plain)
    return found["id"] if found else plain


def system(text: str) -> str:
    """The system or licence that a price includes; empty for Linux and for an unknown one."""
    plain = name(text)
    return "" if plain.casefold() in _LINUX else plain


def number(column: str, text: str) -> float:
    """A number; raises BadCell for any other text."""
    found = number_of(text.strip())
    if found is None or not math.isfinite(found):
        raise BadCell(f"{column} {text.strip()[:40]!r} is no number", "write e.g. 12.5")
    return found


def share(column: str, text: str) -> float | None:
    """A percentage from 0 to 100 as a share; None if it is empty."""
    if not text.strip():
        return None
    percent = number(column, text.strip().removesuffix("%"))
    if not 0 <= percent <= 100:
        raise BadCell(f"{column} {percent:g} is not between 0 and 100 %", "write the 95th percentile in percent")
    return percent / 100


def day(column: str, text: str) -> date | None:
    """A day that begins an ISO 8601 text; None if it is empty."""
    if not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        raise BadCell(f"{column} {text.strip()[:40]!r} is no date", "write e.g. 2027-03-31") from None
