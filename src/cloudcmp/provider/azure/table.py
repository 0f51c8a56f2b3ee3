"""Tables of Azure's table storage."""

from collections.abc import Mapping
from typing import Any

from cloudcmp.errors import NotAllowed
from cloudcmp.model.cast import ServiceKind
from cloudcmp.model.lease import CreateRequest
from cloudcmp.provider.azure.data_sets import AzureDataSets
from cloudcmp.provider.azure.storage import KEY
from cloudcmp.provider.common.data_sets import PLAIN_PREFIX, DataSetName
from cloudcmp.provider.common.hosts import is_loopback

_AFTER = chr(ord(PLAIN_PREFIX[-1]) + 1)


class TableDataSets(AzureDataSets):
    """The tables of a storage account. They have no metadata: the name alone tells whose a table is."""

    kind = ServiceKind.TABLE
    permissions = "raud"

    def spelled(self, request: CreateRequest, name: str) -> str:  # noqa: ARG002 - the name without hyphens
        """The name of a table: letters and digits only."""
        return DataSetName.of(request).plain

    def make(self, client: Any, name: str, metadata: dict[str, str], options: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Creates a table."""
        client.create_table(name, **options)

    def listed(self, client: Any, options: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
        """Names of the tables whose names begin as cloudcmp's do."""
        wanted = f"TableName ge '{PLAIN_PREFIX}' and TableName lt '{PLAIN_PREFIX[:-1]}{_AFTER}'"
        return [(str(one.name), {}) for one in client.query_tables(wanted, **options)]

    def remove(self, client: Any, name: str, options: Mapping[str, Any]) -> None:
        """Deletes a table with its rows."""
        client.delete_table(name, **options)

    def look(self, client: Any, name: str, options: Mapping[str, Any]) -> bool:
        """True if the table is there."""
        return any(one.name == name for one in client.query_tables(f"TableName eq '{name}'", **options))

    def signed(self, client: Any, name: str, since: float, until: float) -> str:  # noqa: ARG002 - nobody is asked
        """A signature of one table; Azure's library makes none without the account's key.

        An emulator on this machine gets one of all its tables: Azurite takes no other for a batch.
        """
        from azure.core.credentials import AzureNamedKeyCredential
        from azure.data.tables import AccountSasPermissions, ResourceTypes, generate_account_sas, generate_table_sas

        def delegated() -> Any:
            raise NotAllowed.at(self.name, "only the account's key can limit a trial to its table", f"set {KEY}")

        terms = self.signing(delegated, since, until)
        named = AzureNamedKeyCredential(terms.pop("account_name"), terms.pop("account_key"))
        if is_loopback(self._sdk.account().urls[self.kind.value]):
            del terms["permission"]
            rights = AccountSasPermissions(read=True, add=True, update=True, delete=True)
            return str(generate_account_sas(named, ResourceTypes(object=True, container=True), rights, **terms))
        return str(generate_table_sas(named, name, **terms))
