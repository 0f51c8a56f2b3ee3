"""The wide-area network between vantage points and data centres."""

from cloudcmp.catalog.tables.base import choice, duration, suite
from cloudcmp.model.cast import Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce

_FROM_AFAR = (Role.VANTAGE, Role.ENDPOINT)

METRICS = (
    Metric("wan_rtt_s", "s", Better.LOWER, Group.WAN, Reduce.PERCENTILE, ("percentile", "vantage"),
           "Round-trip time from a vantage point to the candidate's data centre, at a percentile.",
           "The last mile of users elsewhere.", 9e-2),
    Metric("wan_optimal_rtt_s", "s", Better.LOWER, Group.WAN, Reduce.PERCENTILE, ("percentile", "vantages"),
           "Lowest round-trip time from each vantage point to any data centre of the provider, at a percentile of them.",
           "How well the provider itself maps users to data centres.", 6e-2),
    Metric("wan_bytes_per_s", "B/s", Better.HIGHER, Group.WAN, Reduce.TOTAL, ("direction", "vantage"),
           "Payload received a second over TCP between a vantage point and the data centre.",
           "More than one stream.", 1e7),
)  # fmt: skip

PROBES = (
    Probe("wan", ("wan_rtt_s", "wan_bytes_per_s"),
          (Param("vantage", ParamKind.TEXT, "europe", "where the measuring end is"), choice("direction", "down up", "from or to the cloud"), duration("10")),
          "Round trips and one TCP stream between a vantage point and the data centre.", "The last mile.", 10.0, roles=_FROM_AFAR, built=False),
    Probe("optimal", ("wan_optimal_rtt_s",), (Param("vantages", ParamKind.COUNT, "260", "vantage points"),),
          "The lowest round-trip time from each vantage point to any data centre.", "The provider's own mapping.", 30.0, roles=_FROM_AFAR, built=False),
)  # fmt: skip

SUITES = (
    suite("wide-area", "Round trips and throughput from vantage points, and the optimum over data centres.",
           ("wan", {"vantage": "europe north-america asia"}), ("optimal", {})),
)  # fmt: skip
