"""The table of emulated clouds: what a study needs to run on each, and what its calls must say.

Each is imported only when it is asked for: its official client takes long to load.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.emulated.boot import Boot
from tests.emulated.cloud import Call, Emulated

LAG_S = 0.1


@dataclass(frozen=True, slots=True)
class Kind:
    """One provider's emulated cloud.

    `opened` is one in which little time passes, with machines that boot by what it is given. A machine is rented as
    `offering` with a separate volume of the type `volume`; `also` are options of it that not every study asks for.
    `bodies` tells what is missing in the calls that made something (P5), `machines` those that made one, `user_data`
    what one gave it.
    """

    provider: str
    region: str
    offering: str
    volume: str
    opened: Callable[[Boot | None], AbstractContextManager[Emulated]]
    bodies: Callable[[Emulated], list[str]]
    machines: Callable[[Emulated], list[Call]]
    user_data: Callable[[Call], str]
    also: str = ""
    planted: tuple[str, ...] = ("instance", "firewall", "volume")

    def rented(self, more: str = "") -> str:
        """A machine with a volume of its own, as a study file names a candidate; `more` are further options."""
        lines = (
            f"- provider: {self.provider}",
            f"  region: {self.region}",
            f"  offering: {self.offering}",
            f"  volume: {{type: {self.volume}, size: 1 GiB, price: 0.0001 USD/h}}",
            "  price: 0.0104 USD/h",
            *([f"  {more}"] if more else []),
        )
        return "".join(f"  {line}\n" for line in lines)


def _aws() -> Kind:
    from tests.emulated import ec2_told
    from tests.emulated.ec2 import Faults, ec2

    return Kind(
        "aws", "us-east-1", "t3.micro", "gp3",
        lambda boot: ec2(Faults(pending_s=LAG_S, read_lag_s=LAG_S), boot),
        ec2_told.bodies, ec2_told.machines_made, ec2_told.user_data,
        also="placement: cluster",
    )  # fmt: skip


def _azure() -> Kind:
    from tests.emulated import arm_told
    from tests.emulated.arm import Faults, arm

    return Kind(
        "azure", "eastus", "Standard_B1s", "Premium_LRS",
        lambda boot: arm(Faults(pending_s=LAG_S, read_lag_s=LAG_S), boot),
        arm_told.bodies, arm_told.machines_made, arm_told.user_data,
        also="placement: cluster",
    )  # fmt: skip


def _gcp() -> Kind:
    from tests.emulated import gce_told
    from tests.emulated.gce import Faults, gce

    return Kind(
        "gcp", "us-central1", "e2-micro", "pd-balanced",
        lambda boot: gce(Faults(pending_s=LAG_S, read_lag_s=LAG_S), boot),
        gce_told.bodies, gce_told.machines_made, gce_told.user_data,
        also="zone: us-central1-b",
    )  # fmt: skip


def _openstack() -> Kind:
    from tests.emulated import nova_told
    from tests.emulated.nova import Faults, nova

    return Kind(
        "openstack", "RegionOne", "m1.small", "ssd",
        lambda boot: nova(Faults(pending_s=LAG_S, read_lag_s=LAG_S), boot),
        nova_told.bodies, nova_told.machines_made, nova_told.user_data,
        also="placement: spread",
        planted=("instance", "firewall", "volume", "address"),
    )  # fmt: skip


KINDS: Mapping[str, Callable[[], Kind]] = {"aws": _aws, "azure": _azure, "gcp": _gcp, "openstack": _openstack}


def kind(provider: str) -> Kind:
    """The emulated cloud of a provider."""
    return KINDS[provider]()
