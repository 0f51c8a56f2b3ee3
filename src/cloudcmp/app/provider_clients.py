"""Providers made for a look at them, apart from any study: those that cannot be made are told, not raised."""

from collections.abc import Iterable
from dataclasses import dataclass

from cloudcmp.catalog import hint
from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.protocol import Provider
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provider.registry import ProviderOptions, make, names


@dataclass(frozen=True, slots=True)
class UnavailableProvider:
    """A provider that could not be made: an extra that is not installed, a file of its own that is not there."""

    provider: str
    what: str
    next: str = ""

    @property
    def line(self) -> str:
        """One line for people."""
        return f"{self.provider}: skipped: {self.what}" + (f"; {self.next}" if self.next else "")


def wanted(named: Iterable[str]) -> tuple[str, ...]:
    """The providers that were named, or all; raises UserMistake for an unknown one, naming the nearest."""
    asked = tuple(dict.fromkeys(named))
    for one in asked:
        if one not in names():
            raise UserMistake.at(one, "there is no such provider", hint(one, names(), "cloudcmp list providers"))
    return asked or names()


def opened(
    wanted: Iterable[str], means: ProviderOptions | None = None
) -> tuple[dict[str, Provider], tuple[UnavailableProvider, ...]]:
    """The providers that can be made, and those that cannot with the reason."""
    providers: dict[str, Provider] = {}
    unavailable: list[UnavailableProvider] = []
    for name in wanted:
        try:
            providers[name] = make(name, means)
        except ImportError as error:
            missing = error.name or str(error)
            unavailable.append(
                UnavailableProvider(name, f"{missing} is not installed", f"add the extra: cloudcmp[{name}]")
            )
        except CloudcmpError as error:
            unavailable.append(UnavailableProvider(name, error.faults[0].what, error.faults[0].next))
    return providers, tuple(unavailable)


def brief(error: BaseException) -> str:
    """A failure as one line."""
    return one_line(str(error)) or type(error).__name__
