"""Regions, types and images of a cloud, with hints for unknown names."""

from collections.abc import Callable
from datetime import UTC, date, datetime

from cloudcmp.errors import Refused
from cloudcmp.model.offering import Offering
from cloudcmp.provider.common.suggestions import nearest
from cloudcmp.provider.longtail.dialect import Image
from cloudcmp.provider.longtail.pages import Json
from cloudcmp.provider.longtail.sdk import ApiClient


def _today() -> date:
    return datetime.now(UTC).date()


class OfferingCatalog:
    """Fetches each list once. `today` is the date of its prices."""

    def __init__(self, api: ApiClient, today: Callable[[], date] = _today) -> None:
        self._api, self._today = api, today
        self._regions: dict[str, bool] = {}
        self._types: list[Json] = []
        self._offerings: dict[str, tuple[Offering, ...]] = {}
        self._images: dict[str, Image] = {}

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The types of a region (default: all), none if it is unknown or takes no machines."""
        if not self._types:
            self._api.run_blocking(self._fetch)
        where = [region] if region else sorted(self._regions)
        return tuple(one for name in where for one in self._offerings_in(name))

    def _offerings_in(self, region: str) -> tuple[Offering, ...]:
        if not self._regions.get(region):
            return ()
        if region not in self._offerings:
            cloud, today = self._api.cloud, self._today()
            offerings = (cloud.dialect.offering(cloud, region, response, today) for response in self._types)
            self._offerings[region] = tuple(sorted((one for one in offerings if one), key=lambda one: one.name))
        return self._offerings[region]

    def _fetch(self) -> None:
        dialect = self._api.cloud.dialect
        regions = dict(dialect.region(response) for response in self._api.all_blocking(*dialect.regions))
        self._types, self._regions = self._api.all_blocking(*dialect.types), regions

    async def check_offering(self, region: str, offering: str) -> None:
        """Raises Refused with the nearest name for an unknown region or type."""
        where = self._api.cloud.name
        if not self._types:
            dialect = self._api.cloud.dialect
            regions = await self._api.all(*dialect.regions)
            self._types = await self._api.all(*dialect.types)
            self._regions = dict(dialect.region(response) for response in regions)
        if not self._regions.get(region):
            hint = nearest(region, [name for name, takes in self._regions.items() if takes])
            why = "offers no machines with the required features" if region in self._regions else "is not there"
            raise Refused.at(where, f"region {region!r} {why}", hint)
        names = [one.name for one in self._offerings_in(region)]
        if offering not in names:
            raise Refused.at(f"{where}/{region}", f"there is no type {offering!r}", nearest(offering, names))

    async def image(self, image_name: str) -> Image:
        """The image of a name, looked up once."""
        if image_name not in self._images:
            self._images[image_name] = await self._api.cloud.dialect.image(self._api, image_name)
        return self._images[image_name]
