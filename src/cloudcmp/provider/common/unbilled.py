"""The base class of providers that rent nothing: no bill, and machines only."""

from cloudcmp.model.lease import INSTANCE
from cloudcmp.model.offering import Billing


class Unbilled:
    """A provider whose machines have no known cost; `gone` needs no wait unless the provider sets one.

    If a study gives a price, the owner's, each second counts at it.
    """

    simulated = False
    billed = False
    billing = Billing(0.0, 0.0)
    settle_s = 0.0
    parts: tuple[str, ...] = (INSTANCE,)
