"""Fetches each provider's price list: its addresses and files."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from cloudcmp.catalog import hint
from cloudcmp.cost.sources import azure, gcp
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
_SERVICES = ("Virtual Machines", "Storage", "Bandwidth", "Virtual Network")


@dataclass(frozen=True, slots=True)
class FetchedList:
    """A list in files: its kind, its source, and its region, empty for all."""

    kind: str
    source: str
    files: tuple[Path, ...]
    region: str = ""


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
        known = mapping(_json(base, f"/offers/v1.0/aws/{offer}/current/region_index.json", web, folder, "aws").get(
            "regions"), "its regions")  # fmt: skip
        for region in regions:
            entry = known.get(region)
            if entry is None:
                if offer == _OFFERS[0]:
                    raise UserMistake.at(
                        f"aws/{region}", "there is no list of such a region", hint(region, list(known))
                    )
                continue
            path = mapping(entry, f"region {region}").get("currentVersionUrl")
            yield _offer(base, offer, region, path, web, folder)
    plans = _json(base, "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json", web, folder, "aws")
    for entry in sequence(plans.get("regions"), "its regions"):
        one = mapping(entry, "a region")
        if one.get("regionCode") in regions:
            yield _offer(base, "AWSComputeSavingsPlan", str(one["regionCode"]), one.get("versionUrl"), web, folder)


def _offer(base: str, offer: str, region: str, path: object, web: Web, folder: Path) -> FetchedList:
    """Fetches one of Amazon's files, in CSV form if the address names the JSON form."""
    if not isinstance(path, str) or not path.startswith("/") or not path.endswith("/index.json"):
        raise Unreadable(f"the address of {offer} in {region} is {one_line(path)!r}")
    url = urljoin(base, path.removesuffix(".json") + ".csv")
    if not same_origin(url, base):
        raise Unreadable(f"the address of {offer} in {region} leads elsewhere")
    file = folder / "offer.csv"
    web.get(url, file, what=f"aws/{region} {offer}", most_bytes=LIST_BYTES)
    return FetchedList("aws", one_line(url.partition("//")[2]), (file,), region)


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
    address = f"{base}/v1/services/{gcp.COMPUTE_ENGINE}/skus?pageSize=5000"

    def next_(file: Path) -> str:
        with file.open("rb") as opened:
            token = gcp.next_of(opened)
        return f"{address}&pageToken={quote(token, safe='')}" if token else ""

    files = _pages(address, next_, web, folder, "gcp", {"X-Goog-Api-Key": key})
    yield FetchedList("gcp", gcp.SOURCE, files)


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
