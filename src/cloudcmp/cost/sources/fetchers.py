"""Fetches each provider's price list: its addresses and files."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from cloudcmp.catalog import hint
from cloudcmp.cost.sources import aws_services, azure, azure_services, gcp, gcp_services
from cloudcmp.cost.sources.fields import Unreadable, json_of, mapping, sequence
from cloudcmp.cost.sources.web import LIST_BYTES, Web, check_url, same_origin
from cloudcmp.errors import NoCredentials, UserMistake
from cloudcmp.model.untrusted_text import one_line

ADDRESSES = {
    "aws": "https://pricing.us-east-1.amazonaws.com",
    "azure": "https://prices.azure.com",
    "gcp": "https://cloudbilling.googleapis.com",
}
KEY = "CLOUDCMP_GCP_API_KEY"
PAGES_MOST = 5000
_OFFERS = ("AmazonEC2", "AmazonVPC", "AWSDataTransfer")
_SERVICES = ("Virtual Machines", "Storage", "Bandwidth", "Virtual Network", azure_services.COSMOS)


@dataclass(frozen=True, slots=True)
class FetchedList:
    """A list in files: its kind, its source, and its region, empty for all; `partial` if not every region is in it."""

    kind: str
    source: str
    files: tuple[Path, ...]
    region: str = ""
    partial: bool = False


def address_of(kind: str) -> str:
    """Returns the address of a provider's lists; CLOUDCMP_PRICES_AWS (or _AZURE, _GCP) names a mirror."""
    return check_url(os.environ.get(f"CLOUDCMP_PRICES_{kind.upper()}") or ADDRESSES[kind]).rstrip("/")


def fetch(kind: str, regions: Sequence[str], web: Web, folder: Path) -> Iterator[FetchedList]:
    """Fetches a provider's lists into a folder, one by one; deletes the files of each when the next is requested.

    Raises UserMistake if a region is unknown or missing, and what `Web.get` raises.
    """
    for one in _FETCHERS[kind](address_of(kind), regions, web, folder):
        yield one
        for file in one.files:
            file.unlink(missing_ok=True)


def _aws(base: str, regions: Sequence[str], web: Web, folder: Path) -> Iterator[FetchedList]:
    _require_regions("aws", regions, "a region's list has hundreds of megabytes")
    for offer in _OFFERS:
        known = _offer_regions(base, offer, web, folder)
        for region in regions:
            if region not in known:
                if offer == _OFFERS[0]:
                    raise UserMistake.at(
                        f"aws/{region}", "there is no list of such a region", hint(region, list(known))
                    )
                continue
            url = _offer_url(base, offer, region, known[region])
            yield FetchedList("aws", _source(url), (_offer(url, offer, region, web, folder),), region)
    yield from _aws_services(base, regions, web, folder)
    plans = _json(base, "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json", web, folder, "aws")
    for entry in sequence(plans.get("regions"), "its regions"):
        one = mapping(entry, "a region")
        if one.get("regionCode") in regions:
            name, region = "AWSComputeSavingsPlan", str(one["regionCode"])
            url = _offer_url(base, name, region, one.get("versionUrl"))
            yield FetchedList("aws", _source(url), (_offer(url, name, region, web, folder),), region)


def _aws_services(base: str, regions: Sequence[str], web: Web, folder: Path) -> Iterator[FetchedList]:
    """Fetches what storage services cost, for each region in one list: it has all of them or none."""
    known = {offer: _offer_regions(base, offer, web, folder) for offer in aws_services.OFFERS}
    for region in regions:
        offers = [(offer, _offer_url(base, offer, region, known[offer][region]))
                  for offer in aws_services.OFFERS if region in known[offer]]  # fmt: skip
        files = tuple(_offer(url, offer, region, web, folder) for offer, url in offers)
        if files:
            yield FetchedList("aws", f"{_source(offers[0][1])} and {len(files) - 1} more offers", files, region)


def _offer_regions(base: str, offer: str, web: Web, folder: Path) -> dict[str, object]:
    """Returns the address of an offer's file in each region; the address may be anything."""
    index = _json(base, f"/offers/v1.0/aws/{offer}/current/region_index.json", web, folder, "aws")
    regions = mapping(index.get("regions"), "its regions")
    return {name: mapping(entry, f"region {name}").get("currentVersionUrl") for name, entry in regions.items()}


def _offer_url(base: str, offer: str, region: str, path: object) -> str:
    """Returns the address of one of Amazon's files, in CSV form if the list names the JSON form."""
    if not isinstance(path, str) or not path.startswith("/") or not path.endswith("/index.json"):
        raise Unreadable(f"the address of {offer} in {region} is {one_line(path)!r}")
    url = urljoin(base, path.removesuffix(".json") + ".csv")
    if not same_origin(url, base):
        raise Unreadable(f"the address of {offer} in {region} leads elsewhere")
    return url


def _source(url: str) -> str:
    return one_line(url.partition("//")[2])


def _offer(url: str, offer: str, region: str, web: Web, folder: Path) -> Path:
    """Fetches one of Amazon's files."""
    file = folder / f"{offer}.csv"
    web.get(url, file, what=f"aws/{region} {offer}", most_bytes=LIST_BYTES)
    return file


def _azure(base: str, regions: Sequence[str], web: Web, folder: Path) -> Iterator[FetchedList]:
    _require_regions("azure", regions, "all of them together have hundreds of thousands of prices")
    for region in regions:
        if not region.isalnum():
            raise UserMistake.at(f"azure/{region}", "is no name of a region", "write e.g. --region westeurope")
        services = " or ".join(f"serviceName eq '{one}'" for one in _SERVICES)
        asked = {"api-version": "2023-01-01-preview", "$filter": f"armRegionName eq '{region}' and ({services})"}
        first = f"{base}/api/retail/prices?{urlencode(asked, quote_via=quote)}"

        def next_(file: Path) -> str:
            with file.open("rb") as opened:
                link = azure.next_of(opened)
            if link and not same_origin(link, base):
                raise Unreadable("its NextPageLink leads elsewhere")
            return link

        files = _pages(first, next_, web, folder, f"azure/{region}", {})
        yield FetchedList("azure", f"{azure.SOURCE}, {region}", files, region)


def _gcp(base: str, _: Sequence[str], web: Web, folder: Path) -> Iterator[FetchedList]:
    key = os.environ.get(KEY)
    if not key:
        raise NoCredentials.at("gcp", "Google's catalogue needs an API key", f"make one for Cloud Billing, set {KEY}")
    for service, name in {gcp.COMPUTE_ENGINE: "", **gcp_services.SERVICES}.items():
        address = f"{base}/v1/services/{service}/skus?pageSize=5000"

        def next_(file: Path, address: str = address) -> str:
            with file.open("rb") as opened:
                token = gcp.next_of(opened)
            return f"{address}&pageToken={quote(token, safe='')}" if token else ""

        files = _pages(address, next_, web, folder, f"gcp {name}".rstrip(), {"X-Goog-Api-Key": key})
        yield FetchedList("gcp", f"{gcp.SOURCE} {name}".rstrip(), files, partial=bool(name))


def _pages(
    first: str, next_: Callable[[Path], str], web: Web, folder: Path, what: str, headers: dict[str, str]
) -> tuple[Path, ...]:
    """Fetches all pages in order; raises Unreadable if they are circular or too many."""
    files: list[Path] = []
    seen: set[str] = set()
    url = first
    while url:
        if url in seen:
            raise Unreadable(f"page {len(files)} leads back to an earlier one")
        if len(files) >= PAGES_MOST:
            raise Unreadable(f"it has more than {PAGES_MOST} pages")
        seen.add(url)
        file = folder / f"page-{len(files):05d}.json"
        web.get(url, file, what=f"{what}, page {len(files) + 1}", headers=headers)
        files.append(file)
        url = next_(file)
    return tuple(files)


def _json(base: str, path: str, web: Web, folder: Path, what: str) -> Any:
    file = folder / "index.json"
    web.get(base + path, file, what=what)
    with file.open("rb") as opened:
        return mapping(json_of(opened), path)


def _require_regions(kind: str, regions: Sequence[str], why: str) -> None:
    if not regions:
        raise UserMistake.at(f"cloudcmp fetch {kind}", f"no region is named: {why}", "add --region, e.g. eu-central-1")


_FETCHERS: dict[str, Callable[[str, Sequence[str], Web, Path], Iterator[FetchedList]]] = {
    "aws": _aws,
    "azure": _azure,
    "gcp": _gcp,
}
