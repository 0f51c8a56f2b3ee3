"""This machine as a cloud that costs money, for tests of what is looked at and tried out before a study."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from cloudcmp.model.lease import CreateRequest
from cloudcmp.model.offering import Billing, Offering, Price
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding
from cloudcmp.provider.local import LocalProvider

TODAY = datetime.now(UTC).date()
PRICE = Price(Decimal("0.02"), "USD", "list", TODAY)


class Paid(LocalProvider):
    """This machine, as a cloud that costs money and is asked what may be done there."""

    name = "paid"
    billed = True
    billing = Billing(60.0, 1.0)
    found: tuple[Finding, ...] = (Finding("credentials", True, "account 1"), Finding("rights", True, "may terminate"))
    price: Price | None = PRICE
    created: list[str] = []  # noqa: RUF012 - shared, because the product makes providers anew

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        some = super().offerings(region)
        return tuple(replace(one, provider=self.name, price=self.price) for one in some)

    async def check(self, candidates: Sequence[Candidate]) -> tuple[Finding, ...]:
        return self.found

    async def create(self, request: CreateRequest) -> str:
        self.created.append(request.token)
        return await super().create(request)
