"""Tables of Azure's Cosmos DB, which speak the protocol of Azure's table storage."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cloudcmp.errors import BadCredentials, NoCredentials
from cloudcmp.model.cast import KEY_APIS, Service
from cloudcmp.provider.azure.storage import StorageAccount, StorageSdk
from cloudcmp.provider.azure.table import TableDataSets

CONNECTION = "AZURE_COSMOS_CONNECTION_STRING"
"""The variable with the connection string of an account of Cosmos DB for Table, as the portal shows it."""
(_API,) = KEY_APIS


@dataclass(slots=True)
class CosmosSdk(StorageSdk):
    """The client of an account of Cosmos DB for Table."""

    suffix = "table.cosmos.azure.com"

    def _named(self, environ: Mapping[str, str]) -> StorageAccount:
        text = environ.get(CONNECTION, "").strip()
        if not text:
            hint = f"set {CONNECTION} to the connection string of the account's portal page"
            raise NoCredentials.at("azure", "no account of Cosmos DB is named", hint)
        account = StorageAccount.connected(text, CONNECTION)
        if account.urls["table"].endswith(".core.windows.net"):
            what = f"{CONNECTION} names no TableEndpoint of Cosmos DB"
            raise BadCredentials.at("azure", what, "copy the one of an account of Azure Cosmos DB for Table")
        return account


class CosmosDataSets(TableDataSets):
    """The tables of an account of Cosmos DB, which is opened with its key: it makes no shared access signatures.

    The key lives on, so that only this machine's agent gets it, through its standard input. Tested at Azurite, which
    checks the same signatures; Cosmos DB itself was never asked.
    """

    api = _API

    def __init__(self, name: str, services: Iterable[Service] = (), *, sdk: StorageSdk | None = None) -> None:
        super().__init__(name, services, sdk=sdk or CosmosSdk("table", name))

    async def credential(self, data_set: str, until: float) -> dict[str, object]:  # noqa: ARG002 - no part of it
        """The key of the account."""
        account = self._sdk.account()
        return {"kind": "shared-key", "account": account.name, "key": account.key}
