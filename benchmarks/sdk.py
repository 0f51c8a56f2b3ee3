"""The agent beside official Python SDKs (Amazon's at a simulated service, Azure's at Azurite): CPU time an operation.

The service is the limit of the rate here, so the rates say little; the client's own CPU time is what a machine that
measures has to spare. One operation in flight. Needs the development dependencies, and for Azure Node.js.

usage: .venv/bin/python benchmarks/sdk.py [ROUNDS] [--record]        (5 rounds unless given)
"""

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # the tests' clients of the agent and of the service

from tests.agent.made_data_sets import NAME, client, simulated_aws
from tests.agent.service_trials import REGION, Place, Ran, ran_of, run, said
from tests.emulated.simulated_storage import SimulatedStorage
from tests.servers.clients import azure
from tests.servers.fetch import Absent
from tests.servers.serving import Served, serving

from agent import AGENT, missing, rounds, show
from cloudcmp.agent import encode_job
from cloudcmp.execute.cast import target_of
from cloudcmp.model.cast import DataSet
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.provider.simulated.storage import Key

SECONDS = 1
TABLE = "cloudcmpspeed"


def ours(storage: SimulatedStorage, protocol: str, probe: str, params: dict[str, str]) -> float:
    """The agent's CPU seconds an operation, its start and what fills the data set included."""
    key = Key()
    place = Place(protocol, storage.port, NAME, key.access_key, key.secret_key)
    return _spent(lambda: run(AGENT, place, probe, duration_s=str(SECONDS), **params))


def ours_at_azure(azurite: Served, params: dict[str, str]) -> float:
    """The same of a table at Azurite."""
    credential = {"kind": "shared-key", "account": azurite.access, "key": azurite.secret}
    target, credentials = target_of(
        DataSet("azure-table", azurite.endpoints["azure-table"], TABLE, REGION, credential=credential)
    )
    given = tuple(sorted({"duration_s": str(SECONDS), **params}.items()))
    trial = PlannedTrial(0, 0, "table", given, (), 0, 0.0, 1.0, 15.0, 7)
    line = encode_job(trial, cpus=[0], folder=None, role="client", targets=[target], credentials=credentials)
    return _spent(lambda: ran_of(said(AGENT, line)))


def _spent(measure: Callable[[], Ran]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = measure()
    if ran.outcome != "ok":
        raise RuntimeError(ran.error)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used_s / float(ran.notes["operations"])


def theirs(ask: Callable[[], object]) -> float:
    """The SDK's CPU seconds an operation."""
    until, count, began = time.monotonic() + SECONDS, 0, time.process_time()
    while time.monotonic() < until:
        ask()
        count += 1
    return (time.process_time() - began) / count


def _read(s3: Any) -> bytes:
    """The blob, to its last byte."""
    body: bytes = s3.get_object(Bucket=NAME, Key="b/1024/000000")["Body"].read()
    return body


def main() -> int:
    if why := missing():
        print(why)
        return 1
    with simulated_aws() as storage:
        s3, table = client(storage, "s3"), client(storage, "dynamodb")
        blob = {"op": "download", "size_bytes": "1024", "objects": "1"}
        rows = {"op": "get", "entries": "10"}
        ours(storage, "s3", "blob", blob)  # writes what both read
        ours(storage, "dynamodb", "table", rows)
        ratios: dict[str, list[float]] = {"sdk-s3": [], "sdk-dynamodb": []}
        for _ in range(rounds(5)):
            peer = theirs(lambda: _read(s3))
            ratios["sdk-s3"].append(peer / ours(storage, "s3", "blob", blob))
            peer = theirs(lambda: table.get_item(TableName=NAME, Key={"k": {"S": "r00000000"}}))
            ratios["sdk-dynamodb"].append(peer / ours(storage, "dynamodb", "table", rows))
        for name, found in ratios.items():
            show(name, found)
    try:
        with serving("azurite") as azurite:
            show("sdk-azure-table", of_azure(azurite))
    except Absent as absent:
        print(f"sdk-azure-table: {absent}")
    return 0


def of_azure(azurite: Served) -> list[float]:
    """The ratio of each round, of one table at Azurite."""
    found = []
    with azure(azurite, "table") as account:
        table, rows = account.create_table(TABLE), {"op": "get", "entries": "10"}
        ours_at_azure(azurite, rows)  # writes what both read
        for _ in range(rounds(5)):
            peer = theirs(lambda: table.get_entity("r0", "r00000000"))
            found.append(peer / ours_at_azure(azurite, rows))
    return found


if __name__ == "__main__":
    sys.exit(main())
