"""What the three simulated clouds sell."""

from datetime import date
from decimal import Decimal

from cloudcmp.model.offering import Offering, Price

PROVIDER = "simulated"
_AS_OF = date(2026, 1, 1)

# region: (name, vcpus, memory in GiB, USD an hour); like sizes differ a little, as those of real clouds do.
_SOLD: dict[str, tuple[tuple[str, float, float, str], ...]] = {
    "nimbus": (("small", 1, 2, "0.0210"), ("medium", 2, 8, "0.0960"), ("large", 4, 16, "0.1920")),
    "stratus": (("small", 1, 2, "0.0190"), ("medium", 2, 8, "0.1010"), ("large", 4, 15, "0.1890")),
    "cumulus": (("small", 1, 1.75, "0.0180"), ("medium", 2, 7.5, "0.0880"), ("large", 4, 16, "0.2010")),
}


def offerings(region: str | None = None) -> tuple[Offering, ...]:
    """The instance types of one simulated cloud, or of all; every price is planted and says so."""
    return tuple(
        Offering(PROVIDER, cloud, name, vcpus, memory, "general", Price(Decimal(price), "USD", "planted", _AS_OF), ())
        for cloud, sold in _SOLD.items()
        for name, vcpus, memory, price in sold
        if region in {None, cloud}
    )
