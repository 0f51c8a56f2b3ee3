"""The table of providers. Each is imported only when it is made: some bring libraries that take long to load."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
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


def _local(options: ProviderOptions) -> Provider:
    from cloudcmp.provider.local import LocalProvider

    return LocalProvider((options.work or OwnedPath(Path())).below("launches"), options.agent, options.study)


def _simulated(options: ProviderOptions) -> Provider:
    from cloudcmp.provider.simulated import SimulatedProvider

    def no_histograms(_: object) -> str:
        raise UserMistake.at("simulated", "no way to write histograms was given", "make the provider with one")

    return SimulatedProvider(
        options.metrics,
        options.time or VirtualTime(0.0),
        options.encode_histogram or no_histograms,
        options.candidates,
        options.work.below("simulated-clouds.ndjson") if options.work else None,
    )


def _ssh(options: ProviderOptions) -> Provider:
    from cloudcmp.provider.ssh import SshProvider

    return SshProvider(options.candidates, options.dial)


def _qemu(options: ProviderOptions) -> Provider:
    from cloudcmp.provider.qemu import QemuProvider

    return QemuProvider(study=options.study)


def _cloud(room: str, maker: str, *names: str) -> Callable[[ProviderOptions], Provider]:
    """A rented cloud, by the package and the class of its driver."""

    def make_cloud(_: ProviderOptions) -> Provider:
        provider: Provider = getattr(import_module(f"cloudcmp.provider.{room}"), maker)(*names)
        return provider

    return make_cloud


_MAKERS: dict[str, Callable[[ProviderOptions], Provider]] = {
    "aws": _cloud("aws", "Ec2Provider", "aws"),
    "azure": _cloud("azure", "AzureProvider"),
    "ec2": _cloud("aws", "Ec2Provider", "ec2"),
    "gcp": _cloud("gcp", "GcpProvider"),
    "local": _local,
    "openstack": _cloud("openstack", "OpenStackProvider", "openstack"),
    "qemu": _qemu,
    "rackspace": _cloud("openstack", "OpenStackProvider", "rackspace"),
    "simulated": _simulated,
    "ssh": _ssh,
}


def _long_tail() -> tuple[str, ...]:
    """The clouds of the long tail: one provider for each row of their table."""
    with IMPORT_LOCK:
        from cloudcmp.provider.longtail.table import CLOUDS

        return tuple(CLOUDS)


def names() -> tuple[str, ...]:
    """The providers that can be used, sorted."""
    return tuple(sorted((*_MAKERS, *_long_tail())))


def make(name: str, options: ProviderOptions | None = None) -> Provider:
    """The provider of a name; raises UserMistake for an unknown one, naming the nearest."""
    maker = _MAKERS.get(name)
    if maker is None and name not in _long_tail():
        hint = nearest(name, names(), f"known are {', '.join(names())}")
        raise UserMistake.at("provider", f"unknown provider {name!r}", hint)
    with IMPORT_LOCK:  # what a provider is made of is imported then
        if maker is not None:
            return maker(options or ProviderOptions())
        from cloudcmp.provider.longtail.cloud import LongTailProvider

        return LongTailProvider(name)
