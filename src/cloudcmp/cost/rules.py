"""Billing rules that price lists do not contain: clocks, included quantities, discounts for long use."""

from decimal import Decimal

from cloudcmp.model.bill import Use
from cloudcmp.model.offering import Billing
from cloudcmp.model.price import Item, Purchase

USER_SOURCES = frozenset({"study file", "imported"})
"""Sources of hourly prices that count as they are; those of price lists are shares of a month."""
BY_SECOND = Billing(60.0, 1.0)
_EBS = (Item.VOLUME, Item.IOPS, Item.THROUGHPUT)
_CLOCKS: dict[tuple[str, Item], Billing] = {
    # https://aws.amazon.com/ebs/pricing/: by the second, 60 s at least.
    **{("aws", item): BY_SECOND for item in _EBS},
    # https://aws.amazon.com/vpc/pricing/: in steps of a second, a minute at least (R).
    ("aws", Item.ADDRESS): BY_SECOND,
    # https://cloud.google.com/compute/vm-instance-pricing: a minute at least, then by the second.
    **{("gcp", item): BY_SECOND for item in (Item.INSTANCE, Item.VCPU, Item.MEMORY)},
    # https://cloud.google.com/compute/disks-image-pricing: by the second (R).
    **{("gcp", item): BY_SECOND for item in _EBS},
}
_INCLUDED = {
    # https://aws.amazon.com/ebs/pricing/: what comes with each gp3 volume.
    ("aws", Item.IOPS, "gp3"): Decimal(3000),
    ("aws", Item.THROUGHPUT, "gp3"): Decimal("131.072"),  # MB/s: 125 MiB/s
}
_THIRTY = tuple(map(Decimal, ("1", "0.8", "0.6", "0.4")))
_TWENTY = tuple(map(Decimal, ("1", "0.8678", "0.733", "0.6")))
# https://cloud.google.com/compute/docs/sustained-use-discounts; the four rates of 20 % are R.
_SUSTAINED = {"n1": _THIRTY, "f1": _THIRTY, "g1": _THIRTY, "m1": _THIRTY, "m2": _THIRTY,
              "n2": _TWENTY, "n2d": _TWENTY, "c2": _TWENTY}  # fmt: skip


def directions(use: Use) -> int:
    """Returns how often traffic between machines is billed.

    https://aws.amazon.com/ec2/pricing/on-demand/: between zones of a region both when it leaves and when it arrives.
    """
    return 2 if use.provider == "aws" and use.to == "region" else 1


def clock_of(use: Use) -> Billing:
    """Returns how the time of a use is billed; by default each hour begun."""
    return _CLOCKS.get((use.provider, use.item), Billing())


def included(use: Use) -> Decimal:
    """Returns the included quantity of each thing, in the unit of its price."""
    return _INCLUDED.get((use.provider, use.item, use.name), Decimal(0))


def sustained(use: Use) -> tuple[Decimal, ...]:
    """Returns the shares of the price in the quarters of a month, () without a discount for long use."""
    if use.item is not Item.INSTANCE or use.purchase is not Purchase.ON_DEMAND:
        return ()
    return shares_of(use.provider, use.name)


def shares_of(provider: str, name: str) -> tuple[Decimal, ...]:
    """Returns the same for a machine type on demand; Google's custom types without a family are N1."""
    if provider != "gcp":
        return ()
    family = name.partition("-")[0]
    return _SUSTAINED.get("n1" if family == "custom" else family, ())
