"""The wide-area network between vantage points and endpoints, or data centres."""

import math
from collections.abc import Mapping

from cloudcmp.catalog.tables.base import size, suite
from cloudcmp.model.cast import Role
from cloudcmp.model.metric import Better, Group, Metric, Param, ParamKind, Probe, Reduce

_FROM_AFAR = (Role.VANTAGE, Role.ENDPOINT)
_SEEN = ("percentile", "vantage")
_SIZED = ("percentile", "resource", "size_bytes", "vantage")
_NO_PEER = "its truth is planted: tests/execute/test_vantages.py, over a path that holds each packet back"
_VANTAGE = Param("vantage", ParamKind.TEXT, "here", "the vantage point, by its name in wan:, or this machine")
_PATIENCE = Param("patience_s", ParamKind.SECONDS, "10", "longest time of a page")
_RESOLVER = Param(
    "resolver", ParamKind.TEXT, "system", "who is asked for addresses: the system's resolvers, or an IP", implied=True
)
_FAMILY = Param("family", ParamKind.CHOICE, "4", "version of IP", ("4", "6"), implied=True)
_VERIFY = Param("verify", ParamKind.CHOICE, "yes", "whether the certificate must be right; no: its time alone counts", ("yes", "no"),
                implied=True)  # fmt: skip
_EVERY = Param("every_address", ParamKind.CHOICE, "no", "whether all addresses of the name are pinged too, and noted", ("no", "yes"),
               implied=True)  # fmt: skip
_RESOURCE = Param("resource", ParamKind.CHOICE, "bytes", "the page: bytes (size_bytes of them), the URL itself, or a page of its name",
                  ("bytes", "url", "cpu", "disk", "2mb", "pixel"), implied=True)  # fmt: skip
_WAY_S = 0.05
"""The assumed length of a round trip."""
_FIRST_WINDOW_BYTES = 14_480


def rounds(size_bytes: float) -> int:
    """Round trips of TCP's slow start until the last byte has come: windows of 10, 20, 40, ... segments of 1448 bytes.

    Source: RFC 5681 and RFC 6928.
    """
    return max(1, math.ceil(math.log2(size_bytes / _FIRST_WINDOW_BYTES + 1)))


def _pages_s(filled: Mapping[str, str]) -> float:
    """The expected length of a number of pages at a pace, each with an echo and a connection."""
    page_s = (2 + rounds(float(filled.get("size_bytes", "1")))) * _WAY_S
    return int(filled["count"]) * max(float(filled["interval_s"]), page_s)


def _phase(
    name: str, params: tuple[str, ...], typical: float, doc: str, excludes: str, *, sparse: bool = False
) -> Metric:
    return Metric(name, "s", Better.LOWER, Group.WAN, Reduce.PERCENTILE, params, doc, excludes, typical, sparse=sparse)


METRICS = (
    _phase("wan_rtt_s", _SEEN, 9e-2,
           "Round-trip time from a vantage point to the candidate's data centre, at a percentile: an echo of ICMP, or the "
           "time to connect where none is answered.", "The last mile of users elsewhere."),
    _phase("wan_dns_s", _SEEN, 2e-2, "Time of the look-up of the endpoint's name, at a percentile.",
           "Names that the resolver does not remember, after the first page; a host that is an address.", sparse=True),
    _phase("wan_connect_s", _SEEN, 9e-2, "Time to connect over TCP, at a percentile.", "Names and TLS."),
    _phase("wan_tls_s", _SEEN, 1e-1, "Time of the handshake of TLS, at a percentile.", "Endpoints without TLS; resumed sessions.",
           sparse=True),
    _phase("wan_first_byte_s", _SIZED, 9.5e-2, "Time from a request that is sent to the first byte of its answer, at a percentile.",
           "Connecting."),
    _phase("wan_transfer_s", _SIZED, 2e-1, "Time from the first byte of an answer to its last, at a percentile.", "The first round trip."),
    _phase("wan_page_s", _SIZED, 5e-1, "Time of a page over a new connection, from the question for its name to its last byte, at a percentile.",
           "What a browser does with it, and the other files of a page."),
    Metric("wan_failed_ratio", "ratio", Better.LOWER, Group.WAN, Reduce.MEDIAN, ("resource", "size_bytes", "vantage"),
           "Share of pages that did not come whole.", "Pages that came late, within the patience.", 1e-3, signed=True),
    Metric("visit_response_s", "s", Better.LOWER, Group.WAN, Reduce.MEDIAN, ("vantage",),
           "Time of a request of a watched URL, with look-up and connection.", "Requests that failed.", 3e-1),
    Metric("visit_failed_ratio", "ratio", Better.LOWER, Group.WAN, Reduce.MEDIAN, ("vantage",),
           "Share of the requests of a watched URL that failed, or came too late.", "Requests left out while an earlier one took too long.",
           1e-3, signed=True),
)  # fmt: skip

PROBES = (
    Probe("page",
          ("wan_dns_s", "wan_rtt_s", "wan_connect_s", "wan_tls_s", "wan_first_byte_s", "wan_transfer_s", "wan_page_s", "wan_failed_ratio"),
          (_VANTAGE, _RESOURCE, size("102400", "body of the page"), Param("count", ParamKind.COUNT, "20", "pages", short="2"),
           Param("interval_s", ParamKind.SECONDS, "0", "time between two pages that begin; 0: one right after the other"), _PATIENCE,
           _RESOLVER, _FAMILY, _VERIFY, _EVERY),
          "Pages of an endpoint, each with a look-up and a connection of its own, timed in phases.", "Browsers, and several files at once.",
          10.0, roles=_FROM_AFAR, expected_s=_pages_s, no_peer=_NO_PEER),
    Probe("visit", ("visit_response_s", "visit_failed_ratio"),
          (_VANTAGE, Param("count", ParamKind.COUNT, "20", "requests", short="2"),
           Param("interval_s", ParamKind.SECONDS, "1", "time between two requests that begin"), _PATIENCE, _RESOLVER, _FAMILY, _VERIFY),
          "A URL at a steady pace, one value a request as it comes.", "Phases.", 20.0, roles=_FROM_AFAR, expected_s=_pages_s, no_peer=_NO_PEER),
)  # fmt: skip

SIZES = ("1", "1024", "102400", "327680", "2097152")
"""The bodies of the pages of a study from afar: 1 B, 1 KiB, 100 KiB, 320 KiB and 2 MiB."""

SUITES = (
    suite("wide-area", "Pages of five sizes from this machine, or from a vantage point of the study.",
           ("page", {"size_bytes": " ".join(SIZES)})),
)  # fmt: skip
