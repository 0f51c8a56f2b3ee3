"""What Compute Engine has on its shelves: regions and their zones, machine types, images."""

import asyncio
from contextlib import suppress
from typing import Any

from cloudcmp.errors import IncompleteListing, ProviderFault, Refused
from cloudcmp.model.lease import ZONE
from cloudcmp.model.offering import Offering, custom_type
from cloudcmp.provider.common.responses import unless_missing
from cloudcmp.provider.common.suggestions import check_name, check_system, nearest
from cloudcmp.provider.gcp.images import Image, default_image, find_image
from cloudcmp.provider.gcp.offerings import architecture_of, offering_of
from cloudcmp.provider.gcp.sdk import Sdk


class OfferingCatalog:
    """Each list is fetched once."""

    def __init__(self, sdk: Sdk) -> None:
        self._sdk = sdk
        self._zones: dict[str, tuple[str, ...]] = {}
        self._sold: dict[str, tuple[Offering, ...]] = {}
        self._types: dict[tuple[str, str], Any] = {}
        self._images: dict[tuple[str, str], Image] = {}

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        """The machine types of a region's zones (without one: of the environment's), none for an unknown region.

        Prices are unknown: the study or a catalogue gives them. Custom machine types are in no list.
        """
        where = region or self._sdk.home()
        if where not in self._sold:
            sold = self._sdk.run_blocking(lambda: self._sold_now(where))
            if sold is None:
                return ()
            self._sold[where] = sold
        return self._sold[where]

    def _sold_now(self, region: str) -> tuple[Offering, ...] | None:
        zones = self._regions_now().get(region)
        if zones is None:
            return None
        response: dict[str, Any] = {}
        places: dict[str, list[str]] = {}
        for zone in zones:
            for page in self._sdk.pages_now("machine_types", zone=zone):
                for one in page.items:
                    response[one.name] = one
                    places.setdefault(one.name, []).append(zone)
        found = (offering_of(self._sdk.name, region, one, places[name]) for name, one in response.items())
        return tuple(sorted(found, key=lambda one: one.name))

    def _regions_now(self) -> dict[str, tuple[str, ...]]:
        if not self._zones:
            listed = [one for page in self._sdk.pages_now("regions") for one in page.items]
            if not listed:
                raise IncompleteListing.at(self._sdk.name, "regions.list answered without regions", "ask again")
            self._zones = {one.name: tuple(sorted(link.rsplit("/", 1)[-1] for link in one.zones)) for one in listed}
        return self._zones

    async def regions(self) -> dict[str, tuple[str, ...]]:
        """The regions, each with its zones."""
        return self._zones or await self._sdk.run_in_thread(self._regions_now)

    async def known_region(self, region: str) -> None:
        """Raises Refused for a region that there is not, naming the nearest."""
        check_name(self._sdk.name, f"there is no region {region!r}", region, await self.regions())

    async def zones_for(self, region: str, offering: str, options: dict[str, str], seed: int = 0) -> tuple[str, ...]:
        """The zones in which a machine may be asked for, in the order in which they are tried.

        The zone that is asked for, else all zones of the region that have the type, beginning where the plan's seed
        says: launches spread over a region, and a repeated request goes the same way. Raises Refused without any.
        """
        await self.known_region(region)
        zones = (await self.regions())[region]
        asked = options.get(ZONE)
        if asked is not None:
            if asked not in zones:
                hint = nearest(asked, zones, f"{region} has {', '.join(zones)}")
                raise Refused.at(self._sdk.name, f"there is no zone {asked!r} in {region}", hint)
            zones = (asked,)
        self._well_formed(offering)
        types = await asyncio.gather(*(self._type(zone, offering) for zone in zones))
        having = [zone for zone, one in zip(zones, types, strict=True) if one is not None]
        if not having:
            raise await self._no_type(region, offering, asked)
        first = seed % len(having)
        return tuple(having[first:] + having[:first])

    def _well_formed(self, offering: str) -> None:
        try:
            custom_type(self._sdk.name, offering)
        except ValueError as error:
            raise Refused.at(self._sdk.name, str(error), "write e.g. n2-custom-4-8192") from None

    async def _no_type(self, region: str, offering: str, zone: str | None) -> Refused:
        known = await self._sdk.run_in_thread(lambda: self.offerings(region))
        hint = nearest(offering, [one.name for one in known if one.name != offering], "cloudcmp list offerings gcp")
        return Refused.at(self._sdk.name, f"there is no machine type {offering!r} in {zone or region}", hint)

    async def _type(self, zone: str, offering: str) -> Any:
        """What a zone tells of a machine type, None where it has none of that name."""
        key = (zone, offering)
        if key not in self._types:
            call = self._sdk.read("machine_types", "get", zone=zone, machine_type=offering)
            self._types[key] = await unless_missing(call)
        return self._types[key]

    async def warm(self, region: str, offering: str, options: dict[str, str]) -> None:
        """Look up now what a machine will need, so that nothing is asked between its request and its insert.

        What fails is looked up again by the machine's own request, which tells why.
        """
        with suppress(ProviderFault):
            zones = await self.zones_for(region, offering, options)
            await self.image_for(zones[0], offering, options)

    async def image_for(self, zone: str, offering: str, options: dict[str, str]) -> Image:
        """The image of a machine: the study's, or the newest Ubuntu for the type's processor.

        Raises Refused where its machines are billed for something else than what the study's prices are for.
        """
        system = options.get("os", "linux")
        asked = options.get("image") or default_image(system)
        response = await self._type(zone, offering)
        key = (asked, "x86_64" if response is None else architecture_of(response))
        if key not in self._images:
            self._images[key] = await find_image(self._sdk, *key)
        image = self._images[key]
        check_system(self._sdk.name, asked, windows=image.windows, system=system)
        if image.licence:
            what = f"the image {asked} has a licence that no price here counts: {image.licence}"
            raise Refused.at(self._sdk.name, what, f"take another image, such as {default_image(system)}")
        return image
