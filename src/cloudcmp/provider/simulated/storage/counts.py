"""What a simulated storage service did: the truth that a measurement is compared with."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable

from cloudcmp.provider.simulated.storage.truth import Operation

_PERCENTILES = (1.0, 5.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)


class OperationCounts:
    """The counts and times of one operation.

    `requests` are all that came, with those that were refused. Each has one outcome: answered, throttled, failed,
    refused (a 4xx), wrong_body, short_body, long_body, cut, silent, or abandoned by the client. `at_risk` are the
    eventual reads of something that was not yet everywhere, and `stale` those of them that a lagging replica served;
    `empty` are receives of nothing.

    Times are in seconds. `service_s` were drawn, and with stalls and the queue they give `response_s`, from a request's
    last byte to the planted moment of its answer. `late_s` is how much later than planted answers left, refusals
    included, and `sent_s` is when they really left, without refusals: what a perfect client would measure.
    `propagation_s` were drawn for writes.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.requests = self.at_risk = self.stale = self.empty = 0
        self.payload_bytes_in = self.payload_bytes_out = 0
        self.service_s = array("d")
        self.response_s = array("d")
        self.sent_s = array("d")
        self.late_s = array("d")
        self.propagation_s = array("d")

    def document(self, *, with_values: bool) -> dict[str, object]:
        """The counts as plain data; `with_values` adds every planted time."""
        times = {"service_s": self.service_s, "response_s": self.response_s, "sent_s": self.sent_s}
        times |= {"late_s": self.late_s, "propagation_s": self.propagation_s}
        return {
            "requests": self.requests,
            "outcomes": dict(sorted(self.outcomes.items())),
            "codes": dict(sorted(self.codes.items())),
            "at_risk": self.at_risk,
            "stale": self.stale,
            "empty": self.empty,
            "payload_bytes_in": self.payload_bytes_in,
            "payload_bytes_out": self.payload_bytes_out,
            **{name: summary(values) for name, values in times.items()},
            **({"values": {name: list(values) for name, values in times.items()}} if with_values else {}),
        }


class Counts:
    """The counts of a server: by operation, and of what was no request."""

    def __init__(self) -> None:
        self.operations = {operation: OperationCounts() for operation in Operation}
        self.connections = 0
        self.malformed = 0

    def document(self, *, with_values: bool = False) -> dict[str, object]:
        """The counts as plain data, of the operations that were asked for."""
        return {
            "connections": self.connections,
            "malformed": self.malformed,
            "operations": {
                str(name): counts.document(with_values=with_values)
                for name, counts in self.operations.items()
                if counts.requests
            },
        }


def summary(values: Iterable[float]) -> dict[str, object] | None:
    """Count, mean, extremes and percentiles of times in seconds; None if there are none.

    A percentile is the smallest value with at least that share of all values at or below it.
    """
    ordered = sorted(values)
    if not ordered:
        return None
    count = len(ordered)
    # The margin keeps 99.9 % of 1000 from becoming 999.0000000000001.
    ranks = {share: max(0, math.ceil(share * count / 100 - 1e-9) - 1) for share in _PERCENTILES}
    return {
        "count": count,
        "mean": sum(ordered) / count,
        "min": ordered[0],
        "max": ordered[-1],
        "percentiles": {f"{share:g}": ordered[rank] for share, rank in ranks.items()},
    }
