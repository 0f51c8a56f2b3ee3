"""Provider clients outside a study; a provider that cannot be created is reported, not raised."""

from collections.abc import Iterable
from dataclasses import dataclass

from cloudcmp.catalog import hint
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.protocol import Provider
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.registry import ProviderOptions, has_driver, make, names, stores_of


@dataclass(frozen=True, slots=True)
class UnavailableProvider:
    """A provider whose client could not be created, such as for an extra that is not installed."""

    provider: str
    what: str
    next: str = ""

    @property
    def line(self) -> str:
        """One line for people."""
        return f"{self.provider}: skipped: {self.what}" + (f"; {self.next}" if self.next else "")


def select(named: Iterable[str]) -> tuple[str, ...]:
    """The named providers, or all if none is named; raises UserMistake for an unknown one, naming the nearest."""
    chosen = tuple(dict.fromkeys(named))
    for one in chosen:
        if not has_driver(one):
            raise UserMistake.at(one, "there is no such provider", hint(one, names(), "cloudcmp list providers"))
    return chosen or names()


def with_stores(chosen: Iterable[str]) -> tuple[str, ...]:
    """The providers, each with those that make data sets in its services."""
    return tuple(dict.fromkeys(name for one in chosen for name in (one, *stores_of(one))))


def open_clients(
    chosen: Iterable[str], options: ProviderOptions | None = None
) -> tuple[dict[str, Provider], tuple[UnavailableProvider, ...]]:
    """Clients of the providers, and the providers whose client could not be created."""
    providers: dict[str, Provider] = {}
    unavailable: list[UnavailableProvider] = []
    for name in chosen:
        try:
            providers[name] = make(name, options)
        except ImportError as error:
            missing = error.name or str(error)
            unavailable.append(
                UnavailableProvider(name, f"{missing} is not installed", f"add the extra: cloudcmp[{name}]")
            )
        except CloudcmpError as error:
            unavailable.append(UnavailableProvider(name, error.faults[0].what, error.faults[0].next))
    return providers, tuple(unavailable)


def brief(error: BaseException) -> str:
    """An error as one line."""
    return one_line(str(error)) or type(error).__name__
