"""A storage service on loopback with planted truth, on which measurements of storage services are validated."""

from cloudcmp.provider.simulated.storage.control import Control
from cloudcmp.provider.simulated.storage.server import StorageServer
from cloudcmp.provider.simulated.storage.truth import (
    Distribution,
    Key,
    Operation,
    OperationTruth,
    RateLimit,
    Share,
    Stall,
    StorageTruth,
    parse_truth,
)
