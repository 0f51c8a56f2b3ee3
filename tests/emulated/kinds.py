"""The table of emulated clouds: what a study needs to run on each, and what its calls must say.

Each is imported only when it is asked for: its official client takes long to load.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tests.emulated.boot import Boot
from tests.emulated.cloud import Call
from tests.emulated.standing import Standing

LAG_S = 0.1


@dataclass(frozen=True, slots=True)
class Kind:
    """One provider's emulated cloud.

    `opened` is one in which little time passes, with machines that boot by what it is given. A machine is rented as
    `offering` with a separate volume of the type `volume`, where the cloud has any; `also` are options of it that not
    every study asks for. `bodies` tells what is missing in the calls that made something (P5), `machines` those that
    made one, `user_data` what one gave it. `alone` is why two machines can not measure between each other there.
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
        size="10 GiB",
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


def _long_tail(name: str, region: str, offering: str) -> Callable[[], Kind]:
    def made() -> Kind:
        from tests.emulated import longtail_told
        from tests.emulated.droplets import droplets
        from tests.emulated.linode import linode
        from tests.emulated.longtail import Faults
        from tests.emulated.vultr import vultr

        opened = {"digitalocean": droplets, "linode": linode, "vultr": vultr}[name]
        return Kind(
            name, region, offering, "",
            lambda boot: opened(Faults(pending_s=LAG_S, read_lag_s=LAG_S), boot),
            longtail_told.bodies, longtail_told.machines_made, longtail_told.user_data,
            alone="addresses inside Linode are of 192.168.128.0/17, and this host has none" if name == "linode" else "",
            planted=("instance", "firewall"),
        )  # fmt: skip

    return made


KINDS: Mapping[str, Callable[[], Kind]] = {
    "aws": _aws,
    "azure": _azure,
    "gcp": _gcp,
    "openstack": _openstack,
    "digitalocean": _long_tail("digitalocean", "fra1", "s-1vcpu-1gb"),
    "linode": _long_tail("linode", "eu-central", "g6-nanode-1"),
    "vultr": _long_tail("vultr", "ams", "vc2-1c-1gb"),
}
LARGE = tuple(name for name in KINDS if name in {"aws", "azure", "gcp", "openstack"})
"""Those on which every slice of a walk is run; the others, which one driver serves, have the walks at full length."""


def kind(provider: str) -> Kind:
    """The emulated cloud of a provider."""
    return KINDS[provider]()
