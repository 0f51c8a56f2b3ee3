"""The table of providers; each is imported on first use, because some load large libraries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cloudcmp.errors import UserMistake
from cloudcmp.model.cast import ServiceKind, api_of
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
    """The options of all providers; each uses those that it needs. The defaults suffice to list offerings.

    `work` is the study's folder for launches and simulated state; `agent` the located binary; `dial` opens SSH
    connections. `study` is the study's tag: resources without it are not destroyed.
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


def _netns(options: ProviderOptions) -> Provider:
    from cloudcmp.provider.netns import NamespaceProvider

    launches = (options.work or OwnedPath(Path())).below("launches")
    return NamespaceProvider(launches, options.agent, options.study)


def _cloud(package: str, class_name: str, *names: str) -> Callable[[ProviderOptions], Provider]:
    """The maker of a rented cloud's provider, by package and class."""

    def make_cloud(_: ProviderOptions) -> Provider:
        provider: Provider = getattr(import_module(f"cloudcmp.provider.{package}"), class_name)(*names)
        return provider

    return make_cloud


_FACTORIES: dict[str, Callable[[ProviderOptions], Provider]] = {
    "aws": _cloud("aws", "Ec2Provider", "aws"),
    "azure": _cloud("azure", "AzureProvider"),
    "ec2": _cloud("aws", "Ec2Provider", "ec2"),
    "gcp": _cloud("gcp", "GcpProvider"),
    "local": _local,
    "netns": _netns,
    "openstack": _cloud("openstack", "OpenStackProvider", "openstack"),
    "qemu": _qemu,
    "rackspace": _cloud("openstack", "OpenStackProvider", "rackspace"),
    "simulated": _simulated,
    "ssh": _ssh,
}


_RENTED = frozenset({"aws", "azure", "ec2", "gcp", "openstack", "rackspace"})


def is_rented(name: str) -> bool:
    """True if machines of this provider are rented: each stands behind the firewall of its launch."""
    return name in _RENTED or name in _long_tail()


_STORE_OF: dict[tuple[str, ServiceKind, str], str] = {
    ("s3", ServiceKind.BLOB, ""): "s3",
    ("aws", ServiceKind.BLOB, ""): "aws-s3",
    ("aws", ServiceKind.TABLE, ""): "aws-dynamodb",
    ("aws", ServiceKind.QUEUE, ""): "aws-sqs",
    ("azure", ServiceKind.BLOB, ""): "azure-blob",
    ("azure", ServiceKind.TABLE, ""): "azure-table",
    ("azure", ServiceKind.TABLE, "cosmos-table"): "azure-cosmos",
    ("azure", ServiceKind.QUEUE, ""): "azure-queue",
    ("gcp", ServiceKind.BLOB, ""): "gcp-storage",
    ("gcp", ServiceKind.TABLE, "bigtable"): "gcp-bigtable",
    ("gcp", ServiceKind.QUEUE, ""): "gcp-pubsub",
    ("gcp", ServiceKind.TABLE, "firestore"): "gcp-firestore",
    ("openstack", ServiceKind.BLOB, ""): "openstack-swift",
    ("rackspace", ServiceKind.BLOB, ""): "rackspace-swift",
}
_STORE_CLASSES = {
    "s3": ("aws.s3", "S3DataSets"),
    "aws-s3": ("aws.s3", "S3DataSets"),
    "aws-dynamodb": ("aws.dynamodb", "DynamoDbDataSets"),
    "aws-sqs": ("aws.sqs", "SqsDataSets"),
    "azure-blob": ("azure.blob", "BlobDataSets"),
    "azure-table": ("azure.table", "TableDataSets"),
    "azure-queue": ("azure.queue", "QueueDataSets"),
    "azure-cosmos": ("azure.cosmos", "CosmosDataSets"),
    "gcp-bigtable": ("gcp.bigtable", "BigtableDataSets"),
    "gcp-firestore": ("gcp.firestore", "FirestoreDataSets"),
    "gcp-pubsub": ("gcp.pubsub", "PubSubDataSets"),
    "gcp-storage": ("gcp.storage", "StorageDataSets"),
    "openstack-swift": ("openstack.swift", "SwiftDataSets"),
    "rackspace-swift": ("openstack.swift", "SwiftDataSets"),
}


def _store(name: str) -> Callable[[ProviderOptions], Provider]:
    """The maker of a provider of data sets, for the services of the study's candidates that it makes them in."""
    package, class_name = _STORE_CLASSES[name]
    own = {key for key, store in _STORE_OF.items() if store == name}

    def make_store(options: ProviderOptions) -> Provider:
        services = [one.service for one in options.candidates if one.service and not one.service.serve]
        some = [one for one in services if _key(one.provider, one.kind, one.api) in own]
        provider: Provider = getattr(import_module(f"cloudcmp.provider.{package}"), class_name)(name, some)
        return provider

    return make_store


_STORES = {name: _store(name) for name in _STORE_CLASSES}
"""The providers that only make data sets in services, and have no machines."""


def has_driver(name: str) -> bool:
    """True if there is a provider of this name, also if it only makes data sets."""
    return name in _FACTORIES or name in _STORES or name in _long_tail()


def store_of(provider: str, kind: ServiceKind, api: str = "") -> str | None:
    """The name of the provider that makes data sets in a service; None if there is none yet."""
    return _STORE_OF.get(_key(provider, kind, api))


def _key(provider: str, kind: ServiceKind, api: str) -> tuple[str, ServiceKind, str]:
    """The key of a service in the table of stores, with the API that is meant if none is named."""
    return provider, kind, api_of(provider, kind, api)


def stores_of(provider: str) -> tuple[str, ...]:
    """The names of the providers that make data sets in a provider's services."""
    return tuple(dict.fromkeys(store for (name, _, _), store in _STORE_OF.items() if name == provider))


def _long_tail() -> tuple[str, ...]:
    """The names of the long-tail clouds: one provider for each row of their table."""
    with IMPORT_LOCK:
        from cloudcmp.provider.longtail.table import CLOUDS

        return tuple(CLOUDS)


def names() -> tuple[str, ...]:
    """The names of all providers of machines, sorted."""
    return tuple(sorted((*_FACTORIES, *_long_tail())))


def names_in_study() -> tuple[str, ...]:
    """The names that a candidate of a study can have as its provider, sorted."""
    return tuple(sorted({*names(), *(provider for provider, *_ in _STORE_OF)}))


def billed_names(candidates: Sequence[Candidate] = ()) -> frozenset[str]:
    """The names of the providers whose resources cost money: of all with machines, and of the candidates' services."""
    options, stores = ProviderOptions(candidates=tuple(candidates)), {one.store for one in candidates if one.store}
    machines = {name for name in names() if make(name).billed}
    return frozenset(machines | {name for name in stores if make(name, options).billed})


def make(name: str, options: ProviderOptions | None = None) -> Provider:
    """The provider of a name; raises UserMistake with the nearest name for an unknown one."""
    factory = _FACTORIES.get(name) or _STORES.get(name)
    if factory is None and name not in _long_tail():
        hint = nearest(name, names(), f"known are {', '.join(names())}")
        raise UserMistake.at("provider", f"unknown provider {name!r}", hint)
    with IMPORT_LOCK:  # making a provider imports its modules
        if factory is not None:
            return factory(options or ProviderOptions())
        from cloudcmp.provider.longtail.cloud import LongTailProvider

        return LongTailProvider(name)
