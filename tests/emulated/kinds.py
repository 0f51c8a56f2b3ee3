"""The table of emulated clouds: what a study needs to run on each, and what its calls must say.

Each is imported only when it is asked for: its official client takes long to load.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, cast

from tests.emulated.boot import Boot
from tests.emulated.cloud import Call
from tests.emulated.standing import Standing
from tests.emulated.tail import NAMES, emulated

LAG_S = 0.1


@dataclass(frozen=True, slots=True)
class Kind:
    """One provider's emulated cloud.

    `opened` is one in which little time passes, with machines that boot by what it is given. A machine is rented as
    `offering` with a separate volume of the type `volume`, where the cloud has any; `also` are options of it that not
    every study asks for. `bodies` tells what is missing in the calls that made something (P5), `machines` those that
    made one, `user_data` what one gave it. `alone` is why two machines cannot measure between each other there.
    """

    provider: str
    region: str
    offering: str
    volume: str
    opened: Callable[[Boot | None], AbstractContextManager[Standing[Any]]]
    bodies: Callable[[Standing[Any]], list[str]]
    machines: Callable[[Standing[Any]], list[Call]]
    user_data: Callable[[Call], str]
    also: str = ""
    alone: str = ""
    size: str = "1 GiB"
    planted: tuple[str, ...] = ("instance", "firewall", "volume")

    def rented(self, more: str = "") -> str:
        """A machine with a volume of its own, as a study file names a candidate; `more` are further options."""
        lines = (
            f"- provider: {self.provider}",
            f"  region: {self.region}",
            f"  offering: {self.offering}",
            *([f"  volume: {{type: {self.volume}, size: {self.size}, price: 0.0001 USD/h}}"] if self.volume else []),
            "  price: 0.0104 USD/h",
            *([f"  {more}"] if more else []),
        )
        return "".join(f"  {line}\n" for line in lines)


def _made(
    module: str, told: str, provider: str, region: str, offering: str, volume: str = "", **more: Any
) -> Callable[[], Kind]:
    """A kind whose cloud is opened by the function that its module is called by; `told` says what its calls hold."""

    def made() -> Kind:
        cloud, calls = import_module(f"tests.emulated.{module}"), import_module(f"tests.emulated.{told}")

        def opened(boot: Boot | None) -> AbstractContextManager[Standing[Any]]:
            usual = cloud.Faults(pending_s=LAG_S, read_lag_s=LAG_S)
            return cast(AbstractContextManager[Standing[Any]], getattr(cloud, module)(usual, boot))

        said = (calls.bodies, calls.machines_made, calls.user_data)
        return Kind(provider, region, offering, volume, opened, *said, **more)

    return made


_FEW = ("instance", "firewall")


def _tail(name: str) -> Kind:
    """A cloud of the long tail."""
    one = emulated(name)
    return _made(name, "longtail_told", name, one.region, one.offering, planted=_FEW, alone=one.alone)()


KINDS: Mapping[str, Callable[[], Kind]] = {
    "aws": _made("ec2", "ec2_told", "aws", "us-east-1", "t3.micro", "gp3", also="placement: cluster"),
    "azure": _made("arm", "arm_told", "azure", "eastus", "Standard_B1s", "Premium_LRS", also="placement: cluster"),
    "gcp": _made(
        "gce", "gce_told", "gcp", "us-central1", "e2-micro", "pd-balanced", also="zone: us-central1-b", size="10 GiB"
    ),
    "openstack": _made(
        "nova", "nova_told", "openstack", "RegionOne", "m1.small", "ssd",
        also="placement: spread", planted=("instance", "firewall", "volume", "address"),
    ),
    **{name: partial(_tail, name) for name in NAMES},
}  # fmt: skip
LARGE = tuple(name for name in KINDS if name in {"aws", "azure", "gcp", "openstack"})
"""Those on which every slice of a walk is run; the others, which one driver serves, have the walks at full length."""


def kind(provider: str) -> Kind:
    """The emulated cloud of a provider."""
    return KINDS[provider]()
