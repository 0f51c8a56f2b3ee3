"""What is known of one cloud: a row of facts with their sources, and how it writes what all of these clouds have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Protocol

from cloudcmp.model.lease import CreateRequest
from cloudcmp.model.offering import Billing, Offering

if TYPE_CHECKING:
    from cloudcmp.provider.common.address import Net
    from cloudcmp.provider.longtail.sdk import Library

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a cloud does or lacks, in words, and the page that says so; R where it was only recalled."""

    what: str
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image as the creating call names it, and its own name."""

    id: str | int
    name: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A machine or a firewall as a list shows it. `state` is pending, running, stopped or there; `word` the cloud's."""

    id: str
    name: str
    words: tuple[str, ...]
    state: str = "there"
    word: str = "there"
    region: str = ""
    offering: str | None = None
    public: str | None = None
    inside: str | None = None


class Dialect(Protocol):
    """How one cloud names its paths, its fields and its states.

    `tags` is the list of an account's tags, where those are things of their own that stay when nothing bears them.
    `renames`: machines cannot have every name that we give them.
    """

    machines: tuple[str, str]
    machine_key: tuple[str, ...]
    firewalls: tuple[str, str]
    regions: tuple[str, str]
    types: tuple[str, str]
    account: str
    tags: tuple[str, str] | None
    renames: bool

    def region(self, said: Json) -> tuple[str, bool]:
        """A region's name, and whether machines can be had there as they are needed here."""
        ...

    def offering(self, provider: str, region: str, said: Json, today: date) -> Offering | None:
        """A type as it is sold in a region, None where it is not."""
        ...

    async def image(self, library: "Library", asked: str) -> Image:
        """The image of a name; raises Refused where there is none, or none that reads our user data."""
        ...

    def body(self, request: CreateRequest, image: Image, words: Sequence[str], wall: str | None) -> Json:
        """The body of the one call that makes a machine; `wall` is how its firewall is named there."""
        ...

    def machine(self, said: Json) -> Seen:
        """A machine as a list or an answer tells it."""
        ...

    def firewall(self, said: Json) -> Seen:
        """A firewall as a list tells it."""
        ...

    async def create_firewall(self, library: "Library", request: CreateRequest, nets: Sequence["Net"]) -> str:
        """Make a firewall with its rules, or none; its id. What stays half made is told by the kind of fault."""
        ...

    async def firewall_reference(self, library: "Library", id: str) -> str:
        """How the call that makes a machine names a firewall."""
        ...

    async def delete_firewall(self, library: "Library", id: str) -> bool:
        """Ask for a firewall to be deleted, with all that was made for it; False where there was none."""
        ...

    def account_id(self, said: Json) -> str | None:
        """The account that an answer tells, None where it tells none."""
        ...


class SingleFirewall:
    """What is the same where a firewall is one thing with its rules, and its machines name it by its id."""

    firewalls: tuple[str, str]

    async def firewall_reference(self, library: "Library", id: str) -> str:  # noqa: ARG002
        """The firewall's own id."""
        return id

    async def delete_firewall(self, library: "Library", id: str) -> bool:
        """The firewall, with its rules."""
        return await library.delete(f"{self.firewalls[0]}/{id}")


@dataclass(frozen=True, slots=True)
class Cloud:
    """A row of the table: one cloud.

    `library` is apache-libcloud's own name of it; `tokens` and `endpoint` are environment variables; `word_most` is
    how long a tag may be; `paging` is `links`, `cursor` or `pages`, the three ways to tell that a list goes on;
    `scopes` are what a token must be allowed, empty where there is no such thing; `resizes` is whether this driver can
    make a machine another type.
    """

    name: str
    title: str
    library: str
    tokens: tuple[str, ...]
    endpoint: str
    word_most: int
    paging: str
    billing: Billing
    powered_off: str
    images: Mapping[str, str]
    scopes: tuple[str, ...]
    scopes_say: str
    facts: tuple[Fact, ...]
    dialect: Dialect
    resizes: bool = False

    @property
    def rights(self) -> str:
        """What to do where the token may not do something."""
        file = f"docs/reference/{self.name}-policy.json"
        if self.scopes:
            return f"give the token the scopes of {file}"
        return f"see what its user may do, and from which addresses ({file})"

    def after(self, said: Json, asked: Mapping[str, str]) -> dict[str, str] | None:
        """What to ask for after an answer's page, None where it was the last."""
        if self.paging == "cursor":
            cursor = said.get("meta", {}).get("links", {}).get("next") or ""
            return {"cursor": str(cursor)} if cursor else None
        page = int(asked.get("page", "1"))
        if self.paging == "pages":
            return {"page": str(page + 1)} if page < int(said.get("pages", 1)) else None
        more = said.get("links", {}).get("pages", {}).get("next")
        return {"page": str(page + 1)} if more else None

    def total(self, said: Json) -> int | None:
        """How many entries a list has, as its last page tells; None where it does not."""
        found = said.get("results") if self.paging == "pages" else said.get("meta", {}).get("total")
        return int(found) if isinstance(found, int) else None
