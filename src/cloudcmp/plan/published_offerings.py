"""Offerings in published studies, for providers whose own list is not available."""

import tomllib
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from cloudcmp.model.offering import Offering, Price
from cloudcmp.model.price import How


def published_offerings(provider: str, region: str | None = None) -> tuple[Offering, ...]:
    """A provider's offerings in published studies, in one region or in all; unpublished facts are None."""
    return tuple(sold for sold in _all() if sold.provider == provider and region in {None, sold.region})


def published_providers() -> frozenset[str]:
    """The providers in published studies."""
    return frozenset(sold.provider for sold in _all())


@cache
def _all() -> tuple[Offering, ...]:
    table = tomllib.loads(files("cloudcmp.plan").joinpath("published_offerings.toml").read_text(encoding="utf-8"))
    return tuple(_offering(row, document["source"]) for document in table["document"] for row in document["offerings"])


def _offering(row: dict[str, Any], source: str) -> Offering:
    return Offering(
        provider=row["provider"],
        region=row["region"],
        name=row["name"],
        vcpus=float(row["vcpus"]) if "vcpus" in row else None,
        memory_gib=float(row["memory_gib"]) if "memory_gib" in row else None,
        category=row.get("category"),
        price=Price(Decimal(row["price"]), "USD", source, how=How.PUBLISHED.value) if "price" in row else None,
        attributes=(("source", source),),
    )
