"""Instances of Google Bigtable with one table each."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.errors import IncompleteListing, LostAnswer, NoCredentials, ProviderFault, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding, Safeguard
from cloudcmp.provider.common.data_sets import SAFEGUARDS, DataSetName, DataSets, Found, resources
from cloudcmp.provider.common.hosts import addresses_of, is_loopback
from cloudcmp.provider.gcp.bigtable_sdk import INSTANCE, TABLE, BigtableSdk
from cloudcmp.provider.gcp.storage_sdk import is_missing, is_taken
from cloudcmp.provider.gcp.tags import exact_labels, exact_tags

API = "bigtable"
_CLOCKS_S = 60.0  # a token outlives its trial by as much as clocks may differ
_NOWHERE = ("", "unknown")
_NAME_LABEL, _REGION_LABEL = "cloudcmp-data-set", "cloudcmp-made-in"
_TOKEN_DIGITS = 24  # an instance's name has 33 characters at most, 9 of which say that it is ours
_EMULATED_INSTANCE = "cloudcmp"
_CLUSTER, _DISPLAY_NAME, _NODES, _SSD, _READY = "cloudcmp", "cloudcmp data set", 1, 1, 1
_FAMILY = {"f": {"gc_rule": {"max_num_versions": 1}}}
_POLL_S = 1.0


class BigtableDataSets(DataSets):
    """Instances of one node with a table; labels, set in the creating call, are the tags and the data set's name.

    An instance's own name is too short for a token and a time of expiry, so that one of its labels has both. The
    environment's BIGTABLE_EMULATOR_HOST names an emulator, which asks for no credentials; in one without instances the
    data set is a table alone, whose name tells the same. A trial gets a token that opens the rows of the project's
    tables, for an hour at most: Google has none for one table.
    """

    safeguards = tuple(
        Safeguard("death", False, "an instance stays until it is deleted; its node is billed by the hour")
        if one.name == "death" else one
        for one in SAFEGUARDS
    )  # fmt: skip

    def __init__(self, name: str, services: Iterable[Service] = (), *, sdk: BigtableSdk | None = None) -> None:
        self.name = name
        self._sdk = sdk or BigtableSdk(name.partition("-")[0])
        own = [one for one in services if one.kind is ServiceKind.TABLE and one.api == API]
        self._regions = tuple(dict.fromkeys(one.region for one in own))
        self.billed = not is_loopback(self._sdk.endpoint() or "")  # nothing that stays on this machine costs money
        self._has_instances: bool | None = None if self._sdk.endpoint() else True

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the credentials may list instances of the project."""
        services = [one.service for one in candidates if one.service]
        if not any(one.kind is ServiceKind.TABLE and one.api == API for one in services):
            return ()
        try:
            await self._listed()
        except ProviderFault as fault:
            return (Finding("bigtable of gcp", False, fault.faults[0].what, fault.faults[0].next),)
        project = await self._sdk.run_in_thread(self._sdk.project)
        what = self._sdk.with_endpoint(f"instances of project {project} can be listed")
        return (Finding("bigtable of gcp", True, what),)

    async def account(self) -> str:
        """The project in use, and the endpoint if it is not Google's own."""
        return self._sdk.with_endpoint(await self._sdk.run_in_thread(self._sdk.project))

    # -- names

    async def _project(self) -> str:
        return f"projects/{await self._sdk.run_in_thread(self._sdk.project)}"

    async def _instance(self, name: str) -> str:
        """The full name of the instance of a data set."""
        id = instance_id(name) if await self._instances() else _EMULATED_INSTANCE
        return f"{await self._project()}/instances/{id}"

    async def _table(self, name: str) -> str:
        return f"{await self._instance(name)}/tables/{name}"

    async def _instances(self) -> bool:
        """True unless this is an emulator that has tables only; asked once."""
        if self._has_instances is None:
            parent = await self._project()

            def work(client: Any, how: dict[str, Any]) -> bool:
                from google.api_core.exceptions import MethodNotImplemented

                try:
                    client.list_instances(parent=parent, **how)
                except MethodNotImplemented:
                    return False
                return True

            self._has_instances = await self._sdk.call(INSTANCE, work)
        return self._has_instances

    # -- leases

    async def _create(self, request: CreateRequest, name: str) -> str:
        if await self._instances():
            await self._create_instance(request, name)
        parent, table = await self._instance(name), {"column_families": _FAMILY}
        await self._make(
            TABLE, lambda client, how: client.create_table(parent=parent, table_id=name, table=table, **how)
        )
        return name

    async def _create_instance(self, request: CreateRequest, name: str) -> None:
        """Creates an instance of one node, and waits until it is there."""
        if request.region in _NOWHERE:
            raise Refused.at(request.name, "Bigtable needs a region", "write region: europe-west1")
        project, id = await self._project(), instance_id(name)
        # Every region has a zone b (R).
        cluster = {
            "location": f"{project}/locations/{request.region}-b",
            "serve_nodes": _NODES,
            "default_storage_type": _SSD,
        }
        labels = {**exact_labels(request.tags), _NAME_LABEL: name, _REGION_LABEL: request.region}
        made = {
            "parent": project,
            "instance_id": id,
            "instance": {"display_name": _DISPLAY_NAME, "labels": labels},
            "clusters": {_CLUSTER: cluster},
        }

        def create(client: Any, how: dict[str, Any]) -> None:
            client.create_instance(request=made, **how).result(timeout=self._sdk.deadline_s)

        if not await self._make(INSTANCE, create):
            await self._await_instance(f"{project}/instances/{id}")

    async def _await_instance(self, instance: str) -> None:
        """Waits until an instance is there that an earlier call has begun to create."""

        def wait(client: Any, how: dict[str, Any]) -> None:
            until = time.monotonic() + self._sdk.deadline_s
            while client.get_instance(name=instance, **how).state != _READY:
                if time.monotonic() > until:
                    what = f"{instance} is not there after {self._sdk.deadline_s:g} s"
                    raise LostAnswer.at(self._sdk.name, what, "cloudcmp looks for it")
                time.sleep(_POLL_S)

        await self._sdk.call(INSTANCE, wait, changes=True)

    async def _make(self, kind: str, work: Callable[[Any, dict[str, Any]], Any]) -> bool:
        """Creates one; False if it is there: it is this request's, because the names of a project are its own."""
        try:
            await self._sdk.call(kind, work, changes=True)
        except Refused as fault:
            if not is_taken(fault):
                raise
            return False
        return True

    async def _list(self, region: str | None) -> Listing:
        try:
            found, unlisted = await self._listed()
        except NoCredentials:
            raise
        except ProviderFault as fault:
            raise IncompleteListing(*fault.faults) from fault
        place = region or (self._regions[0] if len(self._regions) == 1 else "")
        return Listing(resources(Found(one.name, one.region or place, one.tags) for one in found), unlisted)

    async def _listed(self) -> tuple[list[Found], tuple[str, ...]]:
        """The data sets of the project, and a line for each place that could not be listed."""
        if not await self._instances():
            return await self._tables(), ()
        parent = await self._project()

        def work(client: Any, how: dict[str, Any]) -> tuple[list[Found], tuple[str, ...]]:
            response = client.list_instances(parent=parent, **how)
            listed = ((one.name.rpartition("/")[2], dict(one.labels)) for one in response.instances)
            unlisted = tuple(f"instances of {one}: not listed" for one in response.failed_locations)
            return [one for id, labels in listed if (one := _found(id, labels))], unlisted

        return await self._sdk.call(INSTANCE, work)

    async def _tables(self) -> list[Found]:
        parent = f"{await self._project()}/instances/{_EMULATED_INSTANCE}"

        def work(client: Any, how: dict[str, Any]) -> list[Found]:
            return [Found(one.name.rpartition("/")[2], "") for one in client.list_tables(parent=parent, **how)]

        return await self._sdk.call(TABLE, work)

    async def destroy(self, handle: Handle) -> None:
        """Deletes an instance with all that is in it; in an emulator without instances the table."""
        instance, table = await self._instance(handle.cloud_id), await self._table(handle.cloud_id)
        try:
            if await self._instances():
                await self._sdk.call(
                    INSTANCE, lambda client, how: client.delete_instance(name=instance, **how), changes=True
                )
            else:
                await self._sdk.call(TABLE, lambda client, how: client.delete_table(name=table, **how), changes=True)
        except Refused as fault:
            if not is_missing(fault):
                raise

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that an instance is gone: the service does not know it."""
        instance, table = await self._instance(handle.cloud_id), await self._table(handle.cloud_id)
        try:
            if await self._instances():
                await self._sdk.call(INSTANCE, lambda client, how: client.get_instance(name=instance, **how))
            else:
                await self._sdk.call(TABLE, lambda client, how: client.get_table(name=table, **how))
        except Refused as fault:
            if is_missing(fault):
                return f"there is no {instance if await self._instances() else table}"
            raise
        return None

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The table, with a token that opens the rows of the project's tables."""
        table, url = await self._table(handle.cloud_id), await self._sdk.run_in_thread(self._sdk.url)
        token = await self._sdk.run_in_thread(lambda: self._sdk.token(until + _CLOCKS_S))
        credential = {"kind": "token", "header": "authorization", "value": f"Bearer {token}"} if token else None
        addresses = await addresses_of(urlsplit(url).hostname or "")
        return DataSet(API, url, table, service.region, addresses=addresses, credential=credential)


def instance_id(name: str) -> str:
    """The name of the instance that holds a data set: as much of the token as there is room for."""
    own = DataSetName.read(name)
    if own is None:
        raise Refused.at("gcp", f"{name} is no data set of cloudcmp's", "report this")
    return f"cloudcmp-{own.token.replace('-', '')[:_TOKEN_DIGITS]}"


def _found(id: str, labels: Mapping[str, str]) -> Found | None:
    """The data set of an instance; None if its labels do not say that it is cloudcmp's."""
    name = labels.get(_NAME_LABEL, "")
    if DataSetName.read(name) is None or instance_id(name) != id:
        return None
    return Found(name, labels.get(_REGION_LABEL, ""), exact_tags(labels))
