"""Classes of applications, each with the limits beyond which its users notice.

Source: Delgado, "Exploring the limits of cloud computing", KTH 2010, section 4.2.3.2 (after Miras et al. and ITU-T
G.114) and section 4.2.2 for the availability that a provider promised in 2010.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClassNeed:
    """One need of a class: a metric (perhaps with parameters), an order, a limit with its unit, and why."""

    cell: str
    op: str
    limit: str
    why: str


@dataclass(frozen=True, slots=True)
class ApplicationClass:
    """A class of applications: what it is, and its needs."""

    what: str
    needs: tuple[ClassNeed, ...]


_DELAY = ClassNeed(
    "wan_rtt_s percentile=95",
    "<=",
    "500 ms",
    "250 ms one way, above which people talk at once; half of the round trip stands for one way",
)
_JITTER = ClassNeed("udp_jitter_s", "<=", "75 ms", "the most for a good impression; 40 ms are recommended")
_LOSS = ClassNeed("udp_loss_ratio", "<=", "2 %", "speech needs less")
_VIDEO_LOSS = ClassNeed("udp_loss_ratio", "<=", "1.5 %", "the strictest of the video coders")

CLASSES = {
    "voip": ApplicationClass(
        "telephony over IP",
        (_DELAY, _JITTER, _LOSS, ClassNeed("tcp_bytes_per_s", ">=", "64 kbit/s", "one call")),
    ),
    "video-conference": ApplicationClass(
        "people who see and hear each other",
        (_DELAY, _JITTER, _VIDEO_LOSS, ClassNeed("tcp_bytes_per_s", ">=", "512 kbit/s", "one medium-sized picture")),
    ),
    "video-sd": ApplicationClass(
        "video of medium resolution to one viewer",
        (_VIDEO_LOSS, ClassNeed("tcp_bytes_per_s", ">=", "512 kbit/s", "H.264 at medium resolution")),
    ),
    "video-hd": ApplicationClass(
        "video of 1080 lines to one viewer",
        (_VIDEO_LOSS, ClassNeed("tcp_bytes_per_s", ">=", "6 Mbit/s", "H.264 at 1080 lines")),
    ),
    "mission-critical": ApplicationClass(
        "a service that its owner's income depends on",
        tuple(
            ClassNeed(f"{kind}_failed_ratio", "<=", "0.05 %", "the 99.95 % that a provider promised in 2010")
            for kind in ("blob", "table", "queue")
        ),
    ),
}
"""Needs of data-intensive and widely distributed applications have no limits in the source, so they are no classes."""
