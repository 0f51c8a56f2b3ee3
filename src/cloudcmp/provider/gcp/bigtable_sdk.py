"""Google's clients of Bigtable's instances and tables."""

from importlib import import_module
from typing import Any

from cloudcmp.provider.common.sdk_imports import import_modules
from cloudcmp.provider.gcp.grpc_sdk import GrpcSdk

INSTANCE, TABLE = "BigtableInstanceAdmin", "BigtableTableAdmin"
"""The services of Bigtable's administration, each with a client of its own."""
_CLIENTS = {
    INSTANCE: ("bigtable_instance_admin", "BigtableInstanceAdminClient"),
    TABLE: ("bigtable_table_admin", "BaseBigtableTableAdminClient"),
}
_SERVICES = "google.cloud.bigtable_admin_v2.services"


class BigtableSdk(GrpcSdk):
    """The clients of Bigtable's instances and tables; rows are for the agent alone."""

    deadline_s = 180.0  # creating an instance takes up to a minute (R)
    library = "google-cloud-bigtable"
    emulator, host, scope = "BIGTABLE_EMULATOR_HOST", "bigtable", "https://www.googleapis.com/auth/bigtable.data"

    def make_client(self, kind: str) -> Any:
        """The client of instances or of tables; that of an emulator encrypts nothing and has no credentials."""
        module, name = _CLIENTS[kind]
        import_modules(f"{_SERVICES}.{module}", f"{_SERVICES}.{module}.transports", "grpc")
        of: Any = getattr(import_module(f"{_SERVICES}.{module}"), name)
        endpoint = self.endpoint()
        if endpoint is None:
            return of(credentials=self.credentials.session().credentials)
        transports: Any = import_module(f"{_SERVICES}.{module}.transports")
        channel = import_module("grpc").insecure_channel(endpoint.removeprefix("http://"))
        return of(transport=getattr(transports, f"{kind}GrpcTransport")(channel=channel))
