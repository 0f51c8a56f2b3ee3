"""The description of one cloud: a row of facts with sources, and its names for common concepts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from cloudcmp.model.lease import FIREWALL, INSTANCE, CreateRequest
from cloudcmp.model.offering import Billing, Offering
from cloudcmp.provider.common.address import Net
from cloudcmp.provider.common.firewall_rules import Rule
from cloudcmp.provider.longtail.pages import Json, Paging

NONEXISTENT_ID = "00000000-0000-4000-8000-000000000000"
"""An id that nobody owns."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response: the JSON object, empty if there is none, and the headers by lower-case name."""

    body: Json
    headers: dict[str, str]


class Api(Protocol):
    """The calls to one cloud's interface. They raise the kinds of ProviderFault."""

    @property
    def cloud(self) -> "Cloud":
        """The cloud's row."""

    async def read(self, path: str, **params: str) -> Response:
        """A read-only call."""

    async def change(self, method: str, path: str, body: Json | None = None, *, again: bool = False) -> Response:
        """A call that creates or deletes something; `again`: the call is idempotent."""

    async def delete(self, path: str) -> bool:
        """Requests the deletion of a resource; False if it did not exist."""

    async def all(self, path: str, key: str) -> list[Json]:
        """A complete list, all of its pages."""

    async def wait(self) -> None:
        """Waits for one poll interval."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of a cloud, and the page that documents it; R if it was only recalled."""

    what: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: the id for the creating call, and its name."""

    id: str | int
    name: str


@dataclass(frozen=True, slots=True)
class ListedResource:
    """A machine or a firewall in a list. `state` is pending, running, stopped or there; `status` is the cloud's."""

    id: str
    name: str
    tags: tuple[str, ...]
    state: str = "there"
    status: str = "there"
    region: str = ""
    offering: str | None = None
    public: str | None = None
    inside: str | None = None


class Dialect(Protocol):
    """The paths, fields and states of one cloud.

    `tags` is the list of an account's tags, if tags are resources that outlive their users. `renames`: machines cannot
    have every name that we give them.
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
        """A region's name, and whether it offers machines with all that we need."""

    def offering(self, cloud: "Cloud", region: str, response: Json, today: date) -> Offering | None:
        """A type as sold in a region, None if it is not."""

    async def image(self, api: Api, image_name: str) -> Image:
        """The image of a name; raises Refused if there is none, or none that reads our user data."""

    def body(self, request: CreateRequest, image: Image, tags: Sequence[str], firewall: str | None) -> Json:
        """The body of the one call that creates a machine; `firewall` is its firewall's name there."""

    def machine(self, response: Json) -> ListedResource:
        """A machine from a list or a response."""

    def firewall(self, response: Json) -> ListedResource:
        """A firewall from a list."""

    async def create_firewall(
        self, api: Api, request: CreateRequest, nets: Sequence[Net], vantages: Sequence[Net]
    ) -> str:
        """Creates a firewall that admits the controller's `nets` and vantage points, or none; returns its id.

        The kind of fault tells if something stays.
        """

    async def firewall_reference(self, api: Api, id: str) -> str:
        """A firewall's name in the call that creates a machine."""

    async def delete_firewall(self, api: Api, id: str) -> bool:
        """Requests the deletion of a firewall and of its own tags; False if there was none."""

    async def rules(self, api: Api, id: str) -> list[Rule]:
        """The admitting rules of a firewall, none if it is not listed."""

    def account_id(self, response: Json) -> str | None:
        """The account in a response, None if there is none."""


async def delete_tags(api: Api, tags: Sequence[str]) -> bool:
    """Deletes tags that are resources, also from everything that has them; False if there are none."""
    path = api.cloud.dialect.tags
    return path is not None and any([await api.delete(f"{path[0]}/{tag}") for tag in tags])


class SingleFirewall:
    """The common part of dialects whose firewall is one resource with rules, named by id in a machine's request."""

    firewalls: tuple[str, str]

    async def firewall_reference(self, api: Api, id: str) -> str:  # noqa: ARG002
        """The firewall's own id."""
        return id

    async def delete_firewall(self, api: Api, id: str) -> bool:
        """Requests the deletion of the firewall with its rules."""
        return await api.delete(f"{self.firewalls[0]}/{id}")


def bearer(token: str) -> Mapping[str, str]:
    """The header of a bearer token."""
    return {"Authorization": f"Bearer {token}"}


def no_scope(method: str, path: str) -> str | None:  # noqa: ARG001
    """The scope of calls at a cloud without scopes."""
    return None


def no_limit(account: Json) -> int | None:  # noqa: ARG001
    """The limit at a cloud that does not report one."""
    return None


Resize = Callable[[Api, str, str, Callable[[], None]], Awaitable[None]]
"""Changes a machine's type: machine id, offering, and a callback while it is stopped."""


@dataclass(frozen=True, slots=True)
class Cloud:
    """A row of the table: everything known about one cloud.

    `smallest` is a region and a cheap type there, for example studies and for tests. `host` is the interface's host;
    `auth` makes a token's headers; `tokens` are the environment variables that may hold one; `currency` is that of its
    prices; `tag_length` is the longest tag; `scopes` are those that a token needs, empty if the cloud has none, and
    `scope_of` gives the scope of a call (method, path). `nonexistent` are ids of a machine and a firewall that nobody
    owns: an allowed delete of one gives 404 (R). `machine_limit` reads the limit from the account; `resize` is None if
    this driver has none; `open_to` is whom a launch's firewall must admit besides the launch.
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
    scopes_note: str
    facts: tuple[Fact, ...]
    dialect: Dialect
    currency: str
    auth: Callable[[str], Mapping[str, str]] = bearer
    parts: tuple[str, ...] = (FIREWALL, INSTANCE)
    nonexistent: tuple[str, str] = (NONEXISTENT_ID, NONEXISTENT_ID)
    scope_of: Callable[[str, str], str | None] = no_scope
    machine_limit: Callable[[Json], int | None] = no_limit
    resize: Resize | None = None
    open_to: str = ""

    @property
    def endpoint(self) -> str:
        """The environment variable with another address of the interface."""
        return f"CLOUDCMP_{self.name.upper()}_URL"

    @property
    def rights(self) -> str:
        """The hint if the token lacks a right."""
        file = f"docs/reference/{self.name}-policy.json"
        if self.scopes:
            return f"give the token the scopes of {file}"
        return f"see what its user may do, and from which addresses ({file})"

    def rights_for(self, method: str, path: str) -> str:
        """The hint if a call is not allowed, with the scope that it needs."""
        scope = self.scope_of(method, path)
        return f"it needs {scope}: {self.rights}" if scope else self.rights


def policy(cloud: Cloud) -> dict[str, Any]:
    """The minimal scopes of a token; `scopes` is empty if the cloud has none, and `note` explains it."""
    return {"provider": cloud.name, "scopes": sorted(cloud.scopes), "note": cloud.scopes_note}
