"""Which site a measured name or address belongs to: a table of the user's, or the names that providers give regions."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from cloudcmp.errors import UserMistake
from cloudcmp.model.wide_area import Site
from cloudcmp.store.wide_area import cells
from cloudcmp.store.wide_area.cells import BadCell
from cloudcmp.store.wide_area.gather import Faults

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_AWS = (".amazonaws.com", ".amazonaws.com.cn")
_AWS_REGION = re.compile(r"(?:s3-)?([a-z]{2}(?:-gov)?-[a-z]+-\d)")
_HOSTS = (
    ("azure", re.compile(r"[a-z0-9-]+\.([a-z]+\d?)\.cloudapp\.azure\.com")),
    ("gcp", re.compile(r"([a-z]+-[a-z]+\d)-(?:docker\.pkg\.dev|run\.googleapis\.com|[a-z0-9-]+\.cloudfunctions\.net)")),
    ("gcp", re.compile(r"[a-z0-9-]+\.([a-z]+-[a-z]+\d)\.rep\.googleapis\.com")),
)
"""Names of hosts in which a provider's region stands, as the providers document them."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Sites by the name, address or network that a measurement was pointed at; `services` are names of many sites."""

    sites: dict[str, Site]
    networks: tuple[tuple[_Network, Site], ...] = ()
    services: dict[str, str] | None = None

    def site_of(self, *targets: str) -> Site | None:
        """The site of the first of some names and addresses that has one; None if none has."""
        for one in filter(None, targets):
            found = self.sites.get(_plain(one)) or self._within(one) or _of_host(_plain(one))
            if found is not None:
                return found
        return None

    def provider_of(self, name: str) -> str | None:
        """The provider of a name that stands for many sites; None if the table has no such name."""
        return (self.services or {}).get(_plain(name))

    def _within(self, text: str) -> Site | None:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return None
        inside = [(network, site) for network, site in self.networks if address in network]
        return max(inside, key=lambda one: one[0].prefixlen)[1] if inside else None


def read_targets(path: Path) -> Targets:
    """Read a table with the columns target, provider and region, and site_lat, site_lon and site_country if known.

    A target is a name, an address or a network such as 192.0.2.0/24. A row without a region is a name that the provider
    answers differently in different places.

    Raises UserMistake, with a line for each of the first 20 faults.
    """
    columns = cells.columns_of(path)
    for wanted in ("target", "provider", "region"):
        if wanted not in columns:
            raise UserMistake.at(str(path), f"no column {wanted}", "write the columns target, provider and region")
    faults = Faults()
    sites: dict[str, Site] = {}
    networks: list[tuple[_Network, Site]] = []
    services: dict[str, str] = {}
    for row in cells.rows_of(path):
        try:
            target, provider = _plain(cells.name(row["target"])), cells.name(row["provider"]).lower()
            if not target or not provider:
                raise BadCell(f"the {'provider' if target else 'target'} is empty", "write one in each row")
            region = cells.name(row["region"])
            place = cells.position(row["site_lat"], row["site_lon"])
            site = Site(provider, region, place, cells.country(row["site_country"]))
            if not region:
                services[target] = provider
            elif "/" in target:
                networks.append((_network(target), site))
            elif sites.setdefault(target, site) != site:
                raise BadCell(f"{target} has another site in an earlier row", "keep one of the two rows")
        except BadCell as bad:
            faults.add(row.place, bad.what, bad.next)
    faults.check()
    return Targets(sites, tuple(networks), services)


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise BadCell(f"{text[:60]!r} is no network", "write e.g. 192.0.2.0/24") from None


def _plain(name: str) -> str:
    return name.strip().lower().removesuffix(".")


def _of_host(name: str) -> Site | None:
    """The site in a name that the providers' own scheme gives to a region."""
    if name.endswith(_AWS):
        found = next(filter(None, map(_AWS_REGION.fullmatch, name.split("."))), None)
        return Site("aws", found[1]) if found else None
    return next((Site(provider, found[1]) for provider, host in _HOSTS if (found := host.fullmatch(name))), None)
