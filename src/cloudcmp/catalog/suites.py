"""The table of suites: named sets of probes with parameters; several values of a parameter are all run."""

from cloudcmp.model.metric import Suite


def _suite(name: str, doc: str, *probes: tuple[str, dict[str, str]]) -> Suite:
    return Suite(
        name,
        tuple(
            (probe, tuple((key, tuple(values.split())) for key, values in params.items())) for probe, params in probes
        ),
        doc,
    )


_ALL = (
    _suite("cpu", "Peaks and a solve, with one thread and with all.",
           ("fma", {"threads": "one all"}), ("int", {"threads": "one all"}), ("lu", {"n": "1000", "threads": "one"})),
    _suite("memory", "Bandwidth beyond the cache, and latency at three sizes.",
           ("stream", {"threads": "one all"}), ("chase", {"size_bytes": "16384 1048576 268435456"})),
    _suite("disk", "Small random and large sequential input/output, past the page cache.",
           ("disk", {"op": "read write", "pattern": "random", "block_bytes": "4096"}),
           ("disk", {"op": "read write", "pattern": "sequential", "block_bytes": "1048576"})),
    _suite("loopback", "TCP, UDP and round trips inside one machine: says nothing of a network.",
           ("tcp", {}), ("udp", {}), ("rtt", {"protocol": "tcp udp"})),
    _suite("elasticity", "How fast machines come, come back, grow and go (CloudCmp, section 5.1.2, and beyond).",
           ("scaling", {}), ("recovery", {}), ("resize", {}), ("scale_in", {})),
    _suite("storage", "Table, blob and queue operations, propagation and consistency (CloudCmp, table 2).",
           ("table", {"op": "get put query", "entries": "1000 100000"}),
           ("blob", {"op": "download upload", "size_bytes": "1024 10485760"}),
           ("queue", {"op": "send receive"}), ("propagation", {}), ("consistency", {"service": "table blob queue"})),
    _suite("network", "TCP, UDP and round trips between two machines of one zone.",
           ("tcp", {"path": "zone"}), ("udp", {"path": "zone"}), ("rtt", {"path": "zone"})),
    _suite("wide-area", "Round trips and throughput from vantage points, and the optimum over data centres.",
           ("wan", {"vantage": "europe north-america asia"}), ("optimal", {})),
)  # fmt: skip

SUITES: dict[str, Suite] = {suite.name: suite for suite in _ALL}
