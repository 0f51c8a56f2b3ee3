"""The table of providers. Each is imported only when it is made: some bring libraries that take long to load."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import Metric
from cloudcmp.model.plan import Candidate
from cloudcmp.model.protocol import Provider
from cloudcmp.model.remote import Dial
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.common.sdk_imports import IMPORT_LOCK
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.time import VirtualTime

if TYPE_CHECKING:
    from cloudcmp.provider.simulated.values import Encode


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What providers are made with; each takes what it needs. The defaults are enough to list offerings.

    `work` is a folder of the study's own for launches and simulated state; `agent` the located binary; `dial`
    opens SSH connections. `study` is the study's tag: what does not bear it is not destroyed.
    """

    work: OwnedPath | None = None
    agent: Path | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()
    time: VirtualTime | None = None
    encode_histogram: "Encode | None" = None
    dial: Dial | None = None
    study: str | None = None


def _local(means: ProviderOptions) -> Provider:
    from cloudcmp.provider.local import LocalProvider

    return LocalProvider((means.work or OwnedPath(Path())).below("launches"), means.agent, means.study)


def _simulated(means: ProviderOptions) -> Provider:
    from cloudcmp.provider.simulated import SimulatedProvider

    def no_histograms(_: object) -> str:
        raise UserMistake.at("simulated", "no way to write histograms was given", "make the provider with one")

    return SimulatedProvider(
        means.metrics,
        means.time or VirtualTime(0.0),
        means.encode_histogram or no_histograms,
        means.candidates,
        means.work.below("simulated-clouds.ndjson") if means.work else None,
    )


def _ssh(means: ProviderOptions) -> Provider:
    from cloudcmp.provider.ssh import SshProvider

    return SshProvider(means.candidates, means.dial)


def _qemu(means: ProviderOptions) -> Provider:
    from cloudcmp.provider.qemu import QemuProvider

    return QemuProvider(study=means.study)


def _aws(_: ProviderOptions) -> Provider:
    from cloudcmp.provider.aws import AWS, Ec2Provider

    return Ec2Provider(AWS)


def _ec2(_: ProviderOptions) -> Provider:
    from cloudcmp.provider.aws import COMPATIBLE, Ec2Provider

    return Ec2Provider(COMPATIBLE)


def _azure(_: ProviderOptions) -> Provider:
    from cloudcmp.provider.azure import AzureProvider

    return AzureProvider()


def _long_tail(name: str) -> Callable[[ProviderOptions], Provider]:
    def make_it(_: ProviderOptions) -> Provider:
        from cloudcmp.provider.longtail import LongTailProvider

        return LongTailProvider(name)

    return make_it


def _gcp(_: ProviderOptions) -> Provider:
    from cloudcmp.provider.gcp import GcpProvider

    return GcpProvider()


def _openstack(_: ProviderOptions) -> Provider:
    from cloudcmp.provider.openstack import OPENSTACK, OpenStackProvider

    return OpenStackProvider(OPENSTACK)


def _rackspace(_: ProviderOptions) -> Provider:
    from cloudcmp.provider.openstack import RACKSPACE, OpenStackProvider

    return OpenStackProvider(RACKSPACE)


_MAKERS: dict[str, Callable[[ProviderOptions], Provider]] = {
    "aws": _aws,
    "azure": _azure,
    "digitalocean": _long_tail("digitalocean"),
    "ec2": _ec2,
    "gcp": _gcp,
    "linode": _long_tail("linode"),
    "local": _local,
    "openstack": _openstack,
    "qemu": _qemu,
    "rackspace": _rackspace,
    "simulated": _simulated,
    "ssh": _ssh,
    "vultr": _long_tail("vultr"),
}


def names() -> tuple[str, ...]:
    """The providers that can be used, sorted."""
    return tuple(sorted(_MAKERS))


def make(name: str, means: ProviderOptions | None = None) -> Provider:
    """The provider of a name; raises UserMistake for an unknown one, naming the nearest."""
    maker = _MAKERS.get(name)
    if maker is None:
        hint = nearest(name, names(), f"known are {', '.join(names())}")
        raise UserMistake.at("provider", f"unknown provider {name!r}", hint)
    with IMPORT_LOCK:  # what a provider is made of is imported then
        return maker(means or ProviderOptions())
