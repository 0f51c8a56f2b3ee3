"""What goes wrong in the emulated EC2: standing properties of the cloud."""

from dataclasses import dataclass

from tests.emulated.faults import Behaviour


@dataclass(frozen=True, slots=True)
class Faults(Behaviour):
    """The whole behaviour beyond the ordinary; the defaults are a cloud in which nothing goes wrong.

    `tokens` is honoured or ignored; `terminated_token` is what a token of a terminated instance gives: error or
    instance. `tags` is kept, ignored (nothing can be tagged) or stripped (only in the creating call; CreateTags works)
    or refused (UnknownParameter). `shutdown` is kept, ignored or refused. `terminate` is ends, nothing (answers 200 and
    does nothing) or stopped. `zones` that a request names are kept, or ignored: every machine stands in the first one.
    `unknown` are actions that this cloud has not, `denied` those that the user may not do. `page` is the most items of
    any list in one answer.
    """

    tokens: str = "honoured"
    terminated_token: str = "error"
    token_filter: bool = True
    tags: str = "kept"
    shutdown: str = "kept"
    dry_run: bool = True
    terminate: str = "ends"
    terminate_s: float = 0.0
    zones: str = "kept"
    forget_s: float = 3600.0
    console_s: float = 0.0
    page: int | None = None
    quota_vcpus: int = 1000
    unknown: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()


EUCALYPTUS = Faults(
    tokens="ignored",
    token_filter=False,
    tags="refused",
    shutdown="ignored",
    dry_run=False,
    unknown=frozenset({"GetServiceQuota", "GetParameter", "DescribeInstanceTypes", "DescribeSpotInstanceRequests"}),
)
"""An older EC2-compatible cloud, features switched off: a personality for tests, not a statement about a product."""
