"""The entries of `candidates`, with their planted truth."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from cloudcmp.catalog import hint
from cloudcmp.model.cast import APIS, ServiceKind
from cloudcmp.model.offering import CellTruth, Match, Truth
from cloudcmp.model.offering import Faults as PlantedFaults
from cloudcmp.model.study import CandidateSpec, FarSpec
from cloudcmp.study import quantities
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.probes import CellBook
from cloudcmp.study.quantities import LOCAL
from cloudcmp.study.shape import CandidateShape, CellShape, FarShape, TruthShape, fit
from cloudcmp.study.tree import Tree

SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Scope:
    """The shared context of the checks of a file."""

    faults: Faults
    tree: Tree
    providers: Collection[str]
    billed: Collection[str]


def check(number: int, item: Any, scope: Scope) -> None:
    """Reports faults of a candidate as a whole, even if a part of it has the wrong shape."""
    path: Path = ("candidates", number)
    faults, tree = scope.faults, scope.tree
    if not isinstance(item, dict):
        return
    provider = item.get("provider")
    if isinstance(provider, str) and provider not in scope.providers:
        advice = hint(provider, scope.providers, "cloudcmp list providers")
        faults.add(tree.place((*path, "provider")), f"unknown provider {shown(provider)}", advice)
    if item.get("service") is not None:
        _check_service(item, path, scope)
    elif (item.get("offering") is None) == (item.get("match") is None):
        what = "a candidate has either an offering or a match"
        faults.add(tree.place(path), what, "write offering: m7i.large, or match: {vcpus: 2, memory_gib: 8}")
    else:
        for key in OF_SERVICES:
            if key in item:
                faults.add(tree.key((*path, key)), f"{key} is for a service", "write service: blob beside it")
    if item.get("match") == {}:
        faults.add(tree.place((*path, "match")), "match is empty", "write e.g. match: {vcpus: 2, memory_gib: 8}")
    _check_far(item, path, scope)
    if "truth" in item and provider != SIMULATED:
        what = f"truth can only be planted in provider: {SIMULATED}"
        faults.add(tree.key((*path, "truth")), what, "leave truth out, or simulate the candidate")


S3 = "s3"
"""The provider of S3-compatible services at any endpoint."""
LOOPBACK_URL = r"^https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::|/|$)"
OF_SERVICES = ("api", "from", "prices", "endpoint", "serve", "name")
OF_MACHINES = ("offering", "match", "count", "volume", "price", "resize_price", "advertised")


def _check_service(item: dict[str, Any], path: Path, scope: Scope) -> None:
    """Reports keys that do not fit a service: it is measured from one machine, and has prices of its own."""
    if item.get("service") == HTTP:
        _check_endpoint(item, path, scope)
        return
    if item.get("from") is None:
        what = "a service is seen from a machine"
        scope.faults.add(scope.tree.place(path), what, "write from: local, or from: {offering: small}")
    if (item.get("provider") == S3) != (item.get("endpoint") is not None):
        what = "provider: s3 and endpoint: go together"
        scope.faults.add(scope.tree.place(path), what, "write provider: s3, endpoint: http://127.0.0.1:9000")
    elif item.get("provider") == S3 and item.get("service") != "blob":
        scope.faults.add(scope.tree.place((*path, "service")), "provider: s3 has blobs only", "write service: blob")
    known = APIS.get((item.get("provider", ""), item.get("service", "")), ())
    if item.get("api") is not None and item["api"] not in known:
        what = "api chooses between services of one kind, and this service has no such other"
        others = " or ".join(f"api: {name}" for name in known if name)
        next_ = f"write {others}, or leave it out" if others else "leave it out"
        scope.faults.add(scope.tree.key((*path, "api")), what, next_)
    if item.get("serve") is not None and not (item.get("from") == LOCAL and _is_loopback(item.get("endpoint"))):
        what = "a service is served on this machine only"
        next_ = "write from: local, and an endpoint at 127.0.0.1 with the port of the command"
        scope.faults.add(scope.tree.key((*path, "serve")), what, next_)
    for key in OF_MACHINES:
        if key in item:
            next_ = "write it under from:" if key in {"offering", "price"} else "leave it out"
            scope.faults.add(scope.tree.key((*path, key)), f"{key} is not a service's", next_)


HTTP = "http"
"""The service that is an endpoint at a URL, seen from the vantage points of the study."""
NOT_OF_ENDPOINTS = ("api", "from", "prices", "serve", *OF_MACHINES)


def _check_endpoint(item: dict[str, Any], path: Path, scope: Scope) -> None:
    """Reports keys that do not fit an endpoint, which is a URL and nothing that the study makes or rents."""
    if item.get("endpoint") is None:
        next_ = "write endpoint: https://example.org, where cloudcmp-agent serve answers"
        scope.faults.add(scope.tree.place(path), "service: http is an endpoint at a URL", next_)
    for key in NOT_OF_ENDPOINTS:
        if key in item:
            what = f"{key} is not an endpoint's: it is seen from the vantage points of wan:"
            scope.faults.add(scope.tree.key((*path, key)), what, "leave it out")


def _check_far(item: dict[str, Any], path: Path, scope: Scope) -> None:
    """Reports a far end that is no other place: no second zone beside a first one, and no second region beside one."""
    far = item.get("far")
    if not isinstance(far, dict):
        return
    second, key = far.get("zone"), (*path, "far")
    if far.get("region") is not None:
        if item.get("region") is None:
            what = "far: {region: ...} is a second region, and the first is not named"
            scope.faults.add(scope.tree.key(key), what, "write region: beside it")
        elif str(item["region"]).strip() == str(far["region"]).strip():
            what = f"region and far are both {shown(far['region'])}"
            scope.faults.add(scope.tree.place((*key, "region")), what, "name another region, or far: {zone: ...}")
    elif second is None:
        scope.faults.add(scope.tree.place(key), "far names no place", "write far: {zone: ...} or far: {region: ...}")
    elif odd := next((name for name in ("price", "traffic") if far.get(name) is not None), None):
        what = f"far: {odd} is that of another region, and far names a zone"
        scope.faults.add(scope.tree.key((*key, odd)), what, "leave it out, or write far: {region: ...}")
    elif item.get("zone") is None:
        what = "far: {zone: ...} is a second zone, and the first is not named"
        scope.faults.add(scope.tree.key((*path, "far")), what, "write zone: beside it")
    elif str(item["zone"]).strip() == str(second).strip():
        what = f"zone and far are both {shown(second)}"
        scope.faults.add(scope.tree.place((*path, "far", "zone")), what, "name another zone of the region")


def _is_loopback(endpoint: object) -> bool:
    """True for a URL whose host is this machine."""
    return isinstance(endpoint, str) and re.match(LOOPBACK_URL, endpoint) is not None


def candidate(number: int, shape: CandidateShape, book: CellBook, scope: Scope) -> CandidateSpec:
    """One candidate of the right shape; faults of its truth are added to the scope's faults."""
    path: Path = ("candidates", number)
    from_ = shape.from_
    return CandidateSpec(
        where=scope.faults.where(scope.tree.place(path)),
        provider=shape.provider,
        region=shape.region,
        offering=from_.offering if from_ else shape.offering,
        match=Match(shape.match.vcpus, shape.match.memory_gib, shape.match.category) if shape.match else None,
        volume=shape.volume,
        options=_options(shape),
        far=_far(shape.far) if shape.far else None,
        count=shape.count,
        price=from_.price if from_ else shape.price,
        resize_price=shape.resize_price,
        promises=shape.advertised,
        service=ServiceKind(shape.service) if shape.service else None,
        unit_prices=shape.prices,
        from_place=(from_.provider or shape.provider, from_.region) if from_ and from_.provider else None,
        endpoint=shape.endpoint or "",
        serve=shape.serve or "",
        name=shape.name or "",
        api=shape.api or "",
        truth=_truth(shape.truth, (*path, "truth"), book, scope) if shape.truth else None,
    )


def _far(shape: FarShape) -> FarSpec:
    return FarSpec(shape.zone or "", shape.region or "", shape.price, shape.traffic)


_OPTIONS = (
    "accept_untracked", "account", "address", "allow", "credits", "image", "market", "network", "os", "placement",
    "tenancy", "zone",
)  # fmt: skip


def _options(shape: CandidateShape) -> tuple[tuple[str, str], ...]:
    """The written options besides type and volume."""
    written = ((name, getattr(shape, name)) for name in _OPTIONS)
    return tuple((name, "yes" if value is True else value) for name, value in written if value is not None)


def _truth(shape: TruthShape, path: Path, book: CellBook, scope: Scope) -> Truth:
    cells = [_cell(text, value, (*path, "cells", text), book, scope) for text, value in shape.cells.items()]
    planted = PlantedFaults(**shape.faults.model_dump())
    return Truth(tuple(cell for cell in cells if cell is not None), shape.boot_s, planted)


def _cell(text: str, value: Any, path: Path, book: CellBook, scope: Scope) -> tuple[str, CellTruth] | None:
    """The truth planted in the cells that a text selects; None if it is wrong."""
    tree, faults = scope.tree, scope.faults
    if isinstance(value, (int, float, str)):
        value = {"mean": value}
    shape = fit(CellShape, tree, value, path, faults)
    cell = book.select(text, tree.key(path), faults)
    if shape is None or cell is None:
        return None
    metric = book.metrics[cell.metric]
    place = tree.place((*path, "mean"))
    try:
        mean = quantities.in_unit_of(metric, shape.mean)
    except (ValueError, OverflowError) as error:
        faults.add_text(place, f"mean: {error}", f"it is in {metric.unit}")
        return None
    if mean <= 0 and not metric.signed:
        faults.add(place, f"mean: {shown(shape.mean)} is not more than 0", f"write e.g. {metric.typical:g}")
        return None
    return str(cell), CellTruth(mean, shape.cov, shape.between, shape.drift, shape.daily)
