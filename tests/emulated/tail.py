"""What the tests must know of each emulated cloud of the long tail, as its own module says it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.longtail.dialect import Cloud

Json = dict[str, Any]
NAMES = tuple(sorted(CLOUDS))


@dataclass(frozen=True, slots=True)
class Recorded:
    """What apache-libcloud's own tests recorded of a cloud, in a `folder` of its fixtures.

    `sizes` and `nodes` are a file and the list in it; `locations` the list in `list_locations`. `first` is a type of
    `region` and its price for the hour. `shows` is the emulation's own method that shows a machine. `lists` and
    `creates` are what the library's driver takes beside.
    """

    folder: str
    sizes: tuple[str, str]
    nodes: tuple[str, str]
    locations: str
    region: str
    first: tuple[str, str]
    shows: str
    lists: Mapping[str, Any] = field(default_factory=dict)
    creates: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Emulated:
    """One emulated cloud: its row, how it is opened, and how it differs from the others.

    `body` is the least that makes a machine, `made` the status of that. `refused_tags` are words that cannot be tags,
    `wrong` what else is refused beside the body. `out_of_scope` is the status of a list without any scope, `full` that
    of an account at its limit. `off` is how a machine that is off is shown. `scopes` are calls (method, path) with what
    they need; without `delete_scopes` machines cannot be deleted, `read_scopes` is what they bring beside.
    `firewall_field` of a machine's body names its firewall; `base64` says how user data travels. `price` and
    `holds` (vCPUs, GiB, category) are the smallest machine's, `unpriced` an offering whose price is unknown.
    `account` tells the id of the account. `larger` is what a machine can be resized to. `rules_apart`: rules are
    made after their firewall; `currency` is what its documentation has prices in. `alone` is why two machines
    cannot measure between each other in the emulation.
    `check_rules` asserts what a firewall holds.
    """

    cloud: Cloud
    make: Callable[..., AbstractContextManager[Any]]
    body: Json
    made: int
    refused_tags: tuple[str, ...]
    wrong: tuple[Json, ...]
    out_of_scope: int
    full: int
    off: str
    firewall_field: str
    price: str
    currency: str
    check_rules: Callable[[Any], None]
    recorded: Recorded | None = None
    holds: tuple[float, float, str | None] = (1.0, 1.0, "burstable")
    scopes: tuple[tuple[str, str, str | None], ...] = ()
    delete_scopes: frozenset[str] = frozenset()
    read_scopes: frozenset[str] = frozenset()
    base64: bool = True
    unpriced: str | None = None
    account: Callable[[Any], str | None] = lambda _: None
    larger: str | None = None
    unique_labels: bool = False
    rules_apart: bool = False
    alone: str = ""

    @property
    def region(self) -> str:
        """Where the smallest machine is sold."""
        return self.cloud.smallest[0]

    @property
    def offering(self) -> str:
        """The smallest machine."""
        return self.cloud.smallest[1]


def recorded(name: str) -> Recorded:
    """What apache-libcloud recorded of a cloud that is one of RECORDED."""
    found = emulated(name).recorded
    assert found is not None
    return found


def emulated(name: str) -> Emulated:
    """The record of a cloud, from the module of its name."""
    return cast(Emulated, import_module(f"tests.emulated.{name}").EMULATED)
