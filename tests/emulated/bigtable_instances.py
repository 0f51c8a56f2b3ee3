"""Bigtable with instances: an emulated administration of instances, before an emulator that has tables alone.

Contract: https://cloud.google.com/bigtable/docs/reference/admin/rpc. Every other call is handed on byte by byte. An
instance must be there before its tables, and takes them with it when it is deleted.
"""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.cloud.bigtable_admin_v2 import types
from google.longrunning import operations_pb2

_INSTANCES, _TABLES = (f"/google.bigtable.admin.v2.Bigtable{kind}Admin/" for kind in ("Instance", "Table"))
_OPERATIONS = "/google.longrunning.Operations/"
_STREAMS = {"ReadRows", "SampleRowKeys", "MutateRows"}
_ID, _CLUSTER_ID = re.compile(r"[a-z][a-z0-9-]{4,31}[a-z0-9]"), re.compile(r"[a-z][-a-z0-9]{5,29}")
_LABEL_KEY, _LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}")
_ZONE = re.compile(r"projects/[^/]+/locations/[a-z]+-[a-z]+[0-9]+-[a-z]")


@dataclass
class BigtableInstances(grpc.GenericRpcHandler):
    """The instances of all projects, by full name, and what was asked of their administration.

    `looks` is how often a new instance is looked at before it is ready, and `unlisted` are places that lists lack.
    """

    tables: str
    looks: int = 0
    unlisted: tuple[str, ...] = ()
    denied: bool = False
    instances: dict[str, Any] = field(default_factory=dict)
    clusters: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    host: str = ""

    def __post_init__(self) -> None:
        self._channel = grpc.insecure_channel(self.tables)
        self._own: dict[str, Callable[[bytes, Any], bytes]] = {
            f"{_INSTANCES}CreateInstance": self._create,
            f"{_INSTANCES}DeleteInstance": self._delete,
            f"{_INSTANCES}GetInstance": self._get,
            f"{_INSTANCES}ListInstances": self._list,
            f"{_OPERATIONS}GetOperation": self._operation,
            f"{_TABLES}CreateTable": self._create_table,
        }

    def service(self, handler_call_details: Any) -> Any:
        """The handler of a call: our own, or one that hands it on."""
        method = handler_call_details.method
        if method.rpartition("/")[2] in _STREAMS:
            return grpc.unary_stream_rpc_method_handler(lambda data, context: self._stream(method, data, context))
        if method.startswith((_INSTANCES, _OPERATIONS)) and method not in self._own:
            return None
        own = self._own.get(method) or (lambda data, context: self._hand_on(method, data, context))
        return grpc.unary_unary_rpc_method_handler(own)

    def _hand_on(self, method: str, data: bytes, context: Any) -> bytes:
        try:
            answer: bytes = self._channel.unary_unary(method)(data, timeout=30)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())
        return answer

    def _stream(self, method: str, data: bytes, context: Any) -> Iterator[bytes]:
        try:
            yield from self._channel.unary_stream(method)(data, timeout=30)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())

    def _create(self, data: bytes, context: Any) -> bytes:
        asked = types.CreateInstanceRequest.deserialize(data)
        self._note("create", context)
        name = f"{asked.parent}/instances/{asked.instance_id}"
        instance, ((cluster_id, cluster),) = asked.instance, asked.clusters.items()
        right = (
            _ID.fullmatch(asked.instance_id)
            and 4 <= len(instance.display_name) <= 30
            and len(instance.labels) <= 64
            and all(_LABEL_KEY.fullmatch(key) and _LABEL.fullmatch(value) for key, value in instance.labels.items())
            and _CLUSTER_ID.fullmatch(cluster_id)
            and _ZONE.fullmatch(cluster.location)
            and cluster.serve_nodes >= 1
        )
        if not right:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"instance {name} is not valid")
        if name in self.instances:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, f"instance {name} exists")
        instance.name, instance.state = name, types.Instance.State.CREATING
        self.instances[name], self.clusters[name] = instance, cluster
        return self._progress(name)

    def _progress(self, name: str) -> bytes:
        """The operation that creates an instance, as far as it has come."""
        operation = operations_pb2.Operation(name=f"operations/{name}", done=self._is_ready(name))
        if operation.done:
            operation.response.Pack(types.Instance.pb(self.instances[name]))
        return operation.SerializeToString()

    def _is_ready(self, name: str) -> bool:
        self.looks -= 1
        if self.looks < 0:
            self.instances[name].state = types.Instance.State.READY
        return self.looks < 0

    def _operation(self, data: bytes, context: Any) -> bytes:
        return self._progress(operations_pb2.GetOperationRequest.FromString(data).name.removeprefix("operations/"))

    def _get(self, data: bytes, context: Any) -> bytes:
        name = types.GetInstanceRequest.deserialize(data).name
        self._note("get", context)
        self._must_exist(name, context)
        self._is_ready(name)
        answer: bytes = types.Instance.serialize(self.instances[name])
        return answer

    def _list(self, data: bytes, context: Any) -> bytes:
        parent = types.ListInstancesRequest.deserialize(data).parent
        self._note("list", context)
        some = [one for name, one in self.instances.items() if name.startswith(f"{parent}/")]
        answer: bytes = types.ListInstancesResponse.serialize(
            types.ListInstancesResponse(instances=some, failed_locations=self.unlisted)
        )
        return answer

    def _delete(self, data: bytes, context: Any) -> bytes:
        name = types.DeleteInstanceRequest.deserialize(data).name
        self._note("delete", context)
        self._must_exist(name, context)
        request = types.ListTablesRequest.serialize(types.ListTablesRequest(parent=name))
        listed = types.ListTablesResponse.deserialize(self._hand_on(f"{_TABLES}ListTables", request, context))
        for table in listed.tables:
            one = types.DeleteTableRequest.serialize(types.DeleteTableRequest(name=table.name))
            self._hand_on(f"{_TABLES}DeleteTable", one, context)
        del self.instances[name], self.clusters[name]
        return b""

    def _create_table(self, data: bytes, context: Any) -> bytes:
        self._must_exist(types.CreateTableRequest.deserialize(data).parent, context)
        return self._hand_on(f"{_TABLES}CreateTable", data, context)

    def _note(self, what: str, context: Any) -> None:
        self.asked.append(what)
        if self.denied:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, f"bigtable.instances.{what} is lacking")

    def _must_exist(self, name: str, context: Any) -> None:
        if name not in self.instances:
            context.abort(grpc.StatusCode.NOT_FOUND, f"instance {name} is not there")


@contextmanager
def bigtable_instances(tables: str) -> Iterator[BigtableInstances]:
    """Serves instances on a free port of loopback, before the emulator of tables at a host and port."""
    server, instances = grpc.server(ThreadPoolExecutor(16)), BigtableInstances(tables)
    server.add_generic_rpc_handlers((instances,))
    instances.host = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield instances
    finally:
        server.stop(0.5).wait()
