"""What is known of one cloud: a row of facts with their sources, and how it writes what all of these clouds have."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.provider.common.address import Net
from cloudcmp.provider.common.firewall_rules import Rule
from cloudcmp.provider.longtail.pages import Json, Paging

NOBODY = "00000000-0000-4000-8000-000000000000"
"""An id that belongs to nobody."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a cloud answered: the JSON object, empty where there is none, and the headers in small letters."""

    body: Json
    headers: dict[str, str]


class Api(Protocol):
    """The calls to one cloud's interface. They raise the kinds of ProviderFault."""

    @property
    def cloud(self) -> "Cloud":
        """The cloud's row."""
        ...

    async def read(self, path: str, **params: str) -> Response:
        """A call that changes nothing."""
        ...

    async def change(self, method: str, path: str, body: Json | None = None, *, again: bool = False) -> Response:
        """A call that makes or ends something; `again`: doing it twice is doing it once."""
        ...

    async def delete(self, path: str) -> bool:
        """Ask for something to be deleted; False where it was not there."""
        ...

    async def all(self, path: str, key: str) -> list[Json]:
        """A whole list, all of its pages."""
        ...

    async def wait(self) -> None:
        """The pause between two looks."""
        ...


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

    def region(self, response: Json) -> tuple[str, bool]:
        """A region's name, and whether machines can be had there as they are needed here."""
        ...

    def offering(self, cloud: "Cloud", region: str, response: Json, today: date) -> Offering | None:
        """A type as it is sold in a region, None where it is not."""
        ...

    async def image(self, api: Api, asked: str) -> Image:
        """The image of a name; raises Refused where there is none, or none that reads our user data."""
        ...

    def body(self, request: CreateRequest, image: Image, words: Sequence[str], wall: str | None) -> Json:
        """The body of the one call that makes a machine; `wall` is how its firewall is named there."""
        ...

    def machine(self, response: Json) -> Seen:
        """A machine as a list or an answer tells it."""
        ...

    def firewall(self, response: Json) -> Seen:
        """A firewall as a list tells it."""
        ...

    async def create_firewall(self, api: Api, request: CreateRequest, nets: Sequence[Net]) -> str:
        """Make a firewall with its rules, or none; its id. What stays half made is told by the kind of fault."""
        ...

    async def firewall_reference(self, api: Api, id: str) -> str:
        """How the call that makes a machine names a firewall."""
        ...

    async def delete_firewall(self, api: Api, id: str) -> bool:
        """Ask for a firewall to be deleted, with all that was made for it; False where there was none."""
        ...

    async def rules(self, api: Api, id: str) -> list[Rule]:
        """The rules of a firewall that admit somebody, none for one that is not shown."""
        ...

    def account_id(self, response: Json) -> str | None:
        """The account that an answer tells, None where it tells none."""
        ...


async def delete_words(api: Api, words: Sequence[str]) -> bool:
    """Delete tags that are things of their own, which unties them from all that bears them; False for none."""
    path = api.cloud.dialect.tags
    return path is not None and any([await api.delete(f"{path[0]}/{word}") for word in words])


class SingleFirewall:
    """What is the same where a firewall is one thing with its rules, and its machines name it by its id."""

    firewalls: tuple[str, str]

    async def firewall_reference(self, api: Api, id: str) -> str:  # noqa: ARG002
        """The firewall's own id."""
        return id

    async def delete_firewall(self, api: Api, id: str) -> bool:
        """The firewall, with its rules."""
        return await api.delete(f"{self.firewalls[0]}/{id}")


def bearer(token: str) -> Mapping[str, str]:
    """The header of a token that whoever bears it may use."""
    return {"Authorization": f"Bearer {token}"}


def no_scope(method: str, path: str) -> str | None:  # noqa: ARG001
    """A cloud without scopes."""
    return None


def no_limit(account: Json) -> int | None:  # noqa: ARG001
    """A cloud that does not say how many machines an account may have."""
    return None


Resize = Callable[[Api, str, str, Callable[[], None]], Awaitable[None]]
"""Makes a machine another type: its id, the offering, and what is called while it stands still."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A row of the table: all that is known of one cloud.

    `smallest` is a region and a type sold there that costs little: an example for a study, and what the tests rent.
    `host` is where its interface is; `auth` the headers of a token; `tokens` the environment variables that may
    hold one; `currency` is what its prices are in; `tag_length` is how long a tag may be; `scopes` are what a token
    must be allowed, empty where there is no such thing, and `scope_of` which of them a call needs (method, path).
    `nobody` are the ids of a machine and of a firewall that belong to nobody: a delete of one is answered by 404
    where deleting is allowed (R). `machine_limit` reads it from what is said of the account; `resize` is None where
    this driver does not do it; `open_to` is whom a launch's firewall has to admit beside the launch.
    """

    name: str
    title: str
    smallest: tuple[str, str]
    host: str
    tokens: tuple[str, ...]
    tag_length: int
    paging: Paging
    billing: Billing
    powered_off: str
    images: Mapping[str, str]
    scopes: tuple[str, ...]
    scopes_say: str
    facts: tuple[Fact, ...]
    dialect: Dialect
    currency: str
    auth: Callable[[str], Mapping[str, str]] = bearer
    parts: tuple[str, ...] = (FIREWALL, INSTANCE)
    nobody: tuple[str, str] = (NOBODY, NOBODY)
    scope_of: Callable[[str, str], str | None] = no_scope
    machine_limit: Callable[[Json], int | None] = no_limit
    resize: Resize | None = None
    open_to: str = ""

    @property
    def endpoint(self) -> str:
        """The environment variable that names another address of the interface."""
        return f"CLOUDCMP_{self.name.upper()}_URL"

    @property
    def rights(self) -> str:
        """What to do where the token may not do something."""
        file = f"docs/reference/{self.name}-policy.json"
        if self.scopes:
            return f"give the token the scopes of {file}"
        return f"see what its user may do, and from which addresses ({file})"

    def rights_for(self, method: str, path: str) -> str:
        """What to do where a call is not allowed, with the scope that it needs."""
        scope = self.scope_of(method, path)
        return f"it needs {scope}: {self.rights}" if scope else self.rights


def policy(cloud: Cloud) -> dict[str, Any]:
    """The least scopes that a token needs; `scopes` is empty where the cloud has no such thing, and `note` says so."""
    return {"provider": cloud.name, "scopes": sorted(cloud.scopes), "note": cloud.scopes_say}
