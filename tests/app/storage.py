"""Studies of an S3-compatible service: the real command against a simulated one that checks signatures."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cloudcmp.provider.simulated.storage import Key, StorageTruth
from tests.emulated.simulated_storage import SimulatedStorage, simulated_storage
from tests.servers.services import Buckets
from tests.servers.serving import Served

KEY = Key()
STUDY = """\
schema: 1
question: How fast is it?
candidates:
  - {{provider: s3, name: one, service: blob, endpoint: "{endpoint}", from: local}}
probes:
  - {{probe: blob, params: {{op: download, objects: 4, duration_s: 0.1}}}}
launches: 6
runs: 1
"""


@contextmanager
def service(truth: StorageTruth | None = None) -> Iterator[tuple[SimulatedStorage, Buckets]]:
    """A simulated service with look-alikes in it, and its buckets."""
    with simulated_storage(truth) as storage:
        served = Served("simulated", {"s3": storage.endpoint}, KEY.access_key, KEY.secret_key, 0)
        buckets = Buckets(served, "s3")
        buckets.plant()
        yield storage, buckets


def environ(home: Path, storage: SimulatedStorage | None = None) -> dict[str, str]:
    """An environment with the key of the service and a home; with a service, its endpoint too."""
    own = {"HOME": str(home), "AWS_ACCESS_KEY_ID": KEY.access_key, "AWS_SECRET_ACCESS_KEY": KEY.secret_key}
    more = {"AWS_ENDPOINT_URL_S3": storage.endpoint} if storage else {}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "XDG_"))}
    return {**kept, "COLUMNS": "80", **own, **more}
