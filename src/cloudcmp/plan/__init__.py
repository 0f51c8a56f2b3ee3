"""The plan: which trials a study takes, in which order, when, and for what money."""

from cloudcmp.plan.candidates import as_listed
from cloudcmp.plan.cast import cast_of, kinds_of
from cloudcmp.plan.expected_traffic import OWN_GUESTS, caps_of, most_bytes
from cloudcmp.plan.planner import make
from cloudcmp.plan.printed import printed_offerings, printed_providers
from cloudcmp.plan.resized import as_listed_for, price_of_resized
from cloudcmp.plan.runnable import check_runnable
from cloudcmp.plan.sessions import next_opening
from cloudcmp.plan.traffic import at_once, machines

__all__ = [
    "OWN_GUESTS",
    "as_listed",
    "as_listed_for",
    "at_once",
    "caps_of",
    "cast_of",
    "check_runnable",
    "kinds_of",
    "machines",
    "make",
    "most_bytes",
    "next_opening",
    "price_of_resized",
    "printed_offerings",
    "printed_providers",
]
