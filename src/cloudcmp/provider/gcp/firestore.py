"""Collections of Google Firestore in native mode, in the project's default database."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cloudcmp.errors import IncompleteListing, NoCredentials, ProviderFault, Refused
from cloudcmp.model.cast import DataSet, Service, ServiceKind
from cloudcmp.model.lease import CreateRequest, Handle, Listing
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.common.data_sets import DataSetName, DataSets, Found, resources
from cloudcmp.provider.common.hosts import addresses_of, is_loopback
from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.gcp.grpc_sdk import GrpcSdk
from cloudcmp.provider.gcp.storage_sdk import is_taken

_T = TypeVar("_T")
_CLOCKS_S = 60.0  # a token outlives its trial by as much as clocks may differ
_BATCH = 500  # the most writes of one commit
_PASSES = 4
_NOWHERE = ("", "unknown")
DOCUMENTS, DATABASES = "documents", "databases"
MARKER = "cloudcmp"
"""The document of a collection that holds its tags; no row has this name."""


class FirestoreSdk(GrpcSdk):
    """The clients of the default database's documents, and of databases."""

    library = "google-cloud-firestore"
    emulator, host, scope = "FIRESTORE_EMULATOR_HOST", "firestore", "https://www.googleapis.com/auth/datastore"

    def path(self, collection: str) -> str:
        """The full name of a collection."""
        return f"projects/{self.project()}/databases/(default)/documents/{collection}"

    def make_client(self, kind: str) -> Any:
        """The client of documents or of databases; an emulator has no client of databases."""
        import_modules("google.cloud.firestore", "google.cloud.firestore_admin_v1", "google.auth.credentials")
        if self.endpoint():
            own = import_module("google.auth.credentials").AnonymousCredentials()
        else:
            own = self.credentials.session().credentials
        if kind == DATABASES:
            return import_module("google.cloud.firestore_admin_v1").FirestoreAdminClient(credentials=own)
        return import_module("google.cloud.firestore").Client(project=self.project(), credentials=own)

    async def documents(self, work: Callable[[Any, dict[str, Any]], _T], *, changes: bool = False) -> _T:
        """Runs calls of the client of documents; sent once if they change anything."""
        return await self.call(DOCUMENTS, work, changes=changes)

    async def place(self) -> str:
        """The region or regions in which the default database lies; empty of an emulator, which has none.

        Raises Refused for a database in the mode of Datastore, whose interface is another.
        """
        if self.endpoint():
            return ""
        name = f"projects/{await self.run_in_thread(self.project)}/databases/(default)"
        found = await self.call(DATABASES, lambda client, how: client.get_database(request={"name": name}, **how))
        if found.type_.name == "DATASTORE_MODE":
            raise Refused.at(self.name, "its default database is in the mode of Datastore", "use another project")
        return str(found.location_id)


class FirestoreDataSets(DataSets):
    """The collections of the default database; a document of each holds its tags and is made first, deleted last.

    A collection never expires: a rule for that is one of the database for each name. The environment's
    FIRESTORE_EMULATOR_HOST names an emulator, which asks for no credentials. A trial gets a token that opens the
    project's databases, for an hour at most: Google has none for one collection.
    """

    def __init__(self, name: str, services: Iterable[Service] = (), *, sdk: FirestoreSdk | None = None) -> None:
        self.name = name
        self._sdk = sdk or FirestoreSdk(name.partition("-")[0])
        self._regions = tuple(dict.fromkeys(one.region for one in services if one.kind is ServiceKind.TABLE))
        self.billed = not is_loopback(self._sdk.endpoint() or "")  # nothing that stays on this machine costs money

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        """Whether the credentials may list collections of the default database, and whether it lies in the region."""
        asked = dict.fromkeys(one.service.region for one in candidates if one.service and one.store == self.name)
        if not asked:
            return ()
        try:
            await self._named()
            lies = await self._sdk.place()
        except ProviderFault as fault:
            return (Finding("table of gcp", False, fault.faults[0].what, fault.faults[0].next),)
        project = await self._sdk.run_in_thread(self._sdk.project)
        text = self._sdk.with_endpoint(f"collections of project {project} can be listed")
        elsewhere = [region for region in asked if lies and region not in {lies, *_NOWHERE}]
        return (
            Finding("table of gcp", True, text),
            *(
                Finding("table of gcp", False, f"the database of {project} lies in {lies}, not in {region}",
                        f"write region: {lies}")
                for region in elsewhere
            ),
        )  # fmt: skip

    async def account(self) -> str:
        """The project in use, and the endpoint if it is not Google's own."""
        return self._sdk.with_endpoint(await self._sdk.run_in_thread(self._sdk.project))

    async def _create(self, request: CreateRequest, name: str) -> str:
        marker = {
            "token": request.token,
            "tags": dict(request.tags),
            "expires": datetime.fromtimestamp(request.at + request.ttl_s, UTC),
        }
        try:
            await self._sdk.documents(
                lambda client, how: client.collection(name).document(MARKER).create(marker, **how), changes=True
            )
        except Refused as fault:
            if not is_taken(fault):  # one that is there is this request's: its name has the request's token
                raise
        return name

    async def _list(self, region: str | None) -> Listing:
        place = region or (self._regions[0] if len(self._regions) == 1 else "")
        try:
            named = await self._named()
        except NoCredentials:
            raise
        except ProviderFault as fault:
            raise IncompleteListing(*fault.faults) from fault
        return Listing(resources(Found(name, place, tags) for name, tags in named))

    async def _named(self) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
        """The names of all collections that are cloudcmp's, also of those without a marker, and their tags."""

        def work(client: Any, how: dict[str, Any]) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
            names = [str(one.id) for one in client.collections(**how) if DataSetName.read(str(one.id))]
            markers = [client.collection(name).document(MARKER) for name in names]
            found = client.get_all(markers, field_paths=["tags"], **how) if markers else ()
            tags = {str(one.reference.parent.id): _tags(one.to_dict()) for one in found}
            return [(name, tags.get(name, ())) for name in names]

        return await self._sdk.documents(work)

    async def destroy(self, handle: Handle) -> None:
        """Deletes all documents of a collection, some at a time, its marker last; then there is no collection."""
        for _ in range(_PASSES):  # an agent that has not ended may still write
            if not await self._empty(handle.cloud_id):
                break
        await self._delete(handle.cloud_id, [MARKER])

    async def _empty(self, name: str) -> int:
        """Deletes the documents of a collection except its marker, in their order; returns how many."""
        count, after = 0, ""
        while True:
            ids = await self._ids(name, after)
            rows = [one for one in ids if one != MARKER]
            if rows:
                await self._delete(name, rows)
            count += len(rows)
            if len(ids) < _BATCH:
                return count
            after = ids[-1]  # what was deleted is not looked through again

    async def _ids(self, name: str, after: str = "", most: int = _BATCH) -> list[str]:
        """The names of a collection's first documents behind one, in order."""

        def work(client: Any, how: dict[str, Any]) -> list[str]:
            collection = client.collection(name)
            query = collection.select(["__name__"]).order_by("__name__").limit(most)
            if after:
                query = query.start_after({"__name__": collection.document(after)})
            return [str(one.id) for one in query.stream(**how)]

        return await self._sdk.documents(work)

    async def _delete(self, name: str, ids: list[str]) -> None:
        def work(client: Any, how: dict[str, Any]) -> None:
            batch = client.batch()
            for one in ids:
                batch.delete(client.collection(name).document(one))
            batch.commit(**how)

        await self._sdk.documents(work, changes=True)

    async def gone(self, handle: Handle) -> str | None:
        """Evidence that a collection is gone: the service knows no document of it."""
        there = await self._ids(handle.cloud_id, most=1)
        return None if there else f"there is no document of a collection {handle.cloud_id}"

    async def data_set(self, service: Service, handle: Handle, until: float) -> DataSet:
        """The collection, with a token that opens the project's databases."""
        path = await self._sdk.run_in_thread(lambda: self._sdk.path(handle.cloud_id))
        url = await self._sdk.run_in_thread(self._sdk.url)
        token = await self._sdk.run_in_thread(lambda: self._sdk.token(until + _CLOCKS_S))
        credential = {"kind": "token", "header": "authorization", "value": f"Bearer {token}"} if token else None
        addresses = await addresses_of(urlsplit(url).hostname or "")
        return DataSet("firestore", url, path, service.region, addresses=addresses, credential=credential)


def _tags(marker: dict[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """The tags of a marker; none of a document that is no marker."""
    tags = (marker or {}).get("tags")
    written = tags.items() if isinstance(tags, dict) else ()
    return tuple(sorted((key, value) for key, value in written if isinstance(value, str)))
