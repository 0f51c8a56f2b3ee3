"""What the providers have in common that rent nothing: no bill, and nothing but machines."""

from cloudcmp.model.lease import INSTANCE
from cloudcmp.model.offering import Billing


class Unbilled:
    """A provider whose machines cost nothing that we know of, and are seen gone at once unless it says otherwise."""

    simulated = False
    billed = False
    billing = Billing()
    settle_s = 0.0
    parts: tuple[str, ...] = (INSTANCE,)
