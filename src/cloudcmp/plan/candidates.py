"""Resolves the candidates of a study: each gets its offering, its runner and a unique id."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from cloudcmp.catalog import hint
from cloudcmp.errors import CloudcmpError, Fault, UserMistake
from cloudcmp.model.cast import Service, ServiceKind, api_of
from cloudcmp.model.lease import ZONE
from cloudcmp.model.offering import Match, Offering, custom_type
from cloudcmp.model.plan import Candidate
from cloudcmp.model.study import CandidateSpec
from cloudcmp.plan.published_offerings import published_offerings
from cloudcmp.provider.registry import store_of

SIMULATED = "simulated"
LOCAL = "local"
_CREDITED = "aws"
_LINED = frozenset({"aws", "azure", "gcp"})
"""Providers whose well-known images have names in cloudcmp."""
_WINDOWS = "windows-"
_S3_REGION = "us-east-1"
"""The region with which requests to an S3-compatible service are signed if the study names none."""
STAND_INS = (SIMULATED, LOCAL)

# Options that distinguish machines of one type; an id shows those that are not the default.
_SHOWN = ("credits", "market", "os", "placement", "tenancy", "zone")
_USUAL = ("linux", "on-demand", "shared")
# The families of AWS that slow down without CPU credits, if nothing else is asked; all others cost more.
_STANDARD = ("t1", "t2")

OfferingsOf = Callable[[str, str | None], Sequence[Offering]]
PricedBy = Callable[[Candidate], tuple[Candidate, tuple[str, ...]]]
"""Adds the prices of a price list to a candidate; also returns a line for each unknown price."""


def unpriced(candidate: Candidate) -> tuple[Candidate, tuple[str, ...]]:
    """The candidate unchanged, without a price list."""
    return candidate, ()


def resolve(specs: Sequence[CandidateSpec], offerings_of: OfferingsOf, on: str | None) -> tuple[Candidate, ...]:
    """The candidates of a study; raises UserMistake with one line for each that cannot be resolved."""
    if on is not None and on not in STAND_INS:
        raise UserMistake.at("--on", f"{on!r} cannot stand in for a cloud", "use --on simulated or --on local")
    candidates: list[Candidate] = []
    faults: list[Fault] = []
    ids: set[str] = set()
    for index, written in enumerate(specs):
        try:
            spec = _with_system(written)
            sold = _offering(_machine_of(spec), offerings_of, on)
        except CloudcmpError as error:
            faults.extend(error.faults)
            continue
        candidate = Candidate(
            index=index,
            id=_unique(_id(spec, sold, on), ids),
            offering=sold,
            runner=on or sold.provider,
            volume=spec.volume,
            options=_options(spec, sold),
            far_zone=spec.far.zone if spec.far and not spec.far.region else "",
            resize_price=spec.resize_price,
            count=spec.count,
            asked=spec.match,
            differs=differences(spec.match, sold) if spec.match else (),
            service=_service(spec, sold),
            store=_store(spec, on or sold.provider),
            unit_prices=spec.unit_prices,
            truth=spec.truth if (on or sold.provider) == SIMULATED else None,
        )
        try:
            candidates.append(_with_far(candidate, spec, offerings_of, on))
        except CloudcmpError as error:
            faults.extend(error.faults)
    if faults:
        raise UserMistake(*faults)
    return tuple(candidates)


def _with_far(candidate: Candidate, spec: CandidateSpec, offerings_of: OfferingsOf, on: str | None) -> Candidate:
    """The candidate with its far end, if it has one in another region: the same type, with the prices of that region.

    A machine that stands in for others, and a simulated one, has no second region.
    """
    far = spec.far
    if far is None or not far.region or on is not None or candidate.simulated:
        return candidate
    there = replace(spec, region=far.region, offering=candidate.offering.name, match=None, price=far.price, promises=())
    options = {**dict(candidate.options), ZONE: far.zone}
    kept = tuple(sorted((key, value) for key, value in options.items() if value))
    end = replace(candidate, offering=_offering(there, offerings_of, on), options=kept)
    return replace(candidate, far=end, traffic_price=far.traffic)


def _service(spec: CandidateSpec, sold: Offering) -> Service | None:
    """The service that a candidate names; without a region it is in that of its machine, if both are one provider's."""
    if spec.service is None:
        return None
    own = sold.region if sold.provider == spec.provider else _S3_REGION if spec.endpoint else "unknown"
    if spec.service is ServiceKind.HTTP:
        own = "unknown"
    api = api_of(spec.provider, spec.service, spec.api)
    return Service(spec.service, spec.provider, spec.region or own, spec.endpoint, spec.serve, spec.name, api)


def _store(spec: CandidateSpec, runner: str) -> str:
    """The provider that makes the data sets of a candidate's service, empty if there is none."""
    if spec.service in {None, ServiceKind.HTTP} or spec.serve:
        return ""
    return SIMULATED if runner == SIMULATED else store_of(spec.provider, spec.service, spec.api) or ""


def _machine_of(spec: CandidateSpec) -> CandidateSpec:
    """The candidate as its machine alone: of another provider and region where its service is seen from there.

    An endpoint has none: this machine looks at it, or asks the machines that do.
    """
    if spec.service is ServiceKind.HTTP:
        return replace(spec, provider=LOCAL, region=None)
    if spec.from_place is None:
        return spec
    provider, region = spec.from_place
    return replace(spec, provider=provider, region=region)


def _with_system(spec: CandidateSpec) -> CandidateSpec:
    """The candidate with the guest system of its named image, because Windows costs more than Linux.

    Raises UserMistake if the study names another system.
    """
    options = dict(spec.options)
    if spec.provider not in _LINED or not options.get("image", "").startswith(_WINDOWS):
        return spec
    if options.setdefault("os", "windows") != "windows":
        what = f"os: {options['os']}, but the image {options['image']} is Windows"
        raise UserMistake.at(spec.where, what, "write os: windows, or take another image")
    return replace(spec, options=tuple(sorted(options.items())))


def _offering(spec: CandidateSpec, offerings_of: OfferingsOf, on: str | None) -> Offering:
    """The offering of a candidate, with the study's own price if it has one."""
    listed = tuple(offerings_of(spec.provider, spec.region))
    known = listed or published_offerings(spec.provider, spec.region)
    if spec.offering is None and spec.match is None and spec.provider == LOCAL:
        spec = replace(spec, offering=max(listed, key=lambda one: one.vcpus or 0.0).name)
    certain = any("source" not in dict(one.attributes) for one in listed)
    sold = _matching(spec, spec.match, known) if spec.match else _named(spec, known, certain=certain)
    if spec.price is not None or _dearer(spec):
        sold = replace(sold, price=spec.price)
    if spec.promises:
        own = {one.of for one in spec.promises}
        sold = replace(sold, promises=(*spec.promises, *(one for one in sold.promised if one.of not in own)))
    # A cloud's price and promises do not apply to this machine, which only stands in for it.
    return replace(sold, price=None, promises=()) if on == LOCAL and spec.provider != LOCAL else sold


def _options(spec: CandidateSpec, sold: Offering) -> tuple[tuple[str, str], ...]:
    """The options of a candidate; a burstable AWS type gets the credits that AWS itself gives it.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances-unlimited-mode-concepts.html
    """
    if sold.provider != _CREDITED or ("burstable", "yes") not in sold.attributes:
        return spec.options
    own = "standard" if sold.name.partition(".")[0] in _STANDARD else "unlimited"
    return tuple(sorted({"credits": own, **dict(spec.options)}.items()))


def _dearer(spec: CandidateSpec) -> bool:
    """True if the options cost more than the type's own price, by an amount that no list has."""
    return ("os", "windows") in spec.options or ("tenancy", "dedicated") in spec.options


def _matching(spec: CandidateSpec, match: Match, known: Sequence[Offering]) -> Offering:
    sold = nearest_offering(match, known)
    if sold is None:
        what = f"no offering of {_place(spec)} is known that is like what is asked for"
        raise UserMistake.at(spec.where, what, f"name one; see 'cloudcmp list offerings {spec.provider}'")
    return sold


def _named(spec: CandidateSpec, known: Sequence[Offering], *, certain: bool) -> Offering:
    """The offering of a name. A provider's own list is complete; a published study prints only some offerings."""
    name = spec.offering or ""
    for sold in known:
        if sold.name == name:
            return sold
    custom = _custom(spec, name)
    if custom is not None:
        return custom
    invented = spec.provider == SIMULATED and (spec.truth is not None or spec.price is not None)
    if certain and not invented:
        advice = hint(name, [sold.name for sold in known], f"cloudcmp list offerings {spec.provider}")
        raise UserMistake.at(spec.where, f"unknown offering {name!r} in {_place(spec)}", advice)
    return Offering(spec.provider, spec.region or "unknown", name)


def _custom(spec: CandidateSpec, name: str) -> Offering | None:
    """The offering of a custom machine type, which no list holds; None for any other name."""
    try:
        custom = custom_type(spec.provider, name)
    except ValueError as error:
        raise UserMistake.at(spec.where, str(error), "write e.g. n2-custom-4-8192") from None
    if custom is None:
        return None
    return Offering(spec.provider, spec.region or "unknown", name, float(custom.vcpus), custom.memory_mib / 1024)


def _place(spec: CandidateSpec) -> str:
    return f"{spec.provider}/{spec.region}" if spec.region else spec.provider


def _id(spec: CandidateSpec, sold: Offering, on: str | None) -> str:
    """The id of a candidate: provider, region and offering, additions, and the provider that stands in."""
    text = f"{sold.provider}/{sold.region}/{sold.name}"
    if spec.service:
        place = spec.name or urlsplit(spec.endpoint).netloc or spec.region or sold.region
        seen_from = sold.name if sold.provider == spec.provider else f"{sold.provider} {sold.name}"
        kind = f"{api_of(spec.provider, spec.service, spec.api)} {spec.service.value}".lstrip()
        text = f"{spec.provider}/{place}/{kind} from {seen_from}"
        if spec.service is ServiceKind.HTTP:
            text = f"{spec.provider}/{spec.region or place}/http" + (f" {place}" if spec.region else "")
    text += f"+{spec.volume}" if spec.volume else ""
    text += "".join(f" {value}" for key, value in spec.options if key in _SHOWN and value not in _USUAL)
    text += f" to {' '.join(filter(None, (spec.far.region, spec.far.zone)))}" if spec.far else ""
    text += f" x{spec.count}" if spec.count > 1 else ""
    return f"{text} on {on}" if on and on != spec.provider else text


def _unique(text: str, ids: set[str]) -> str:
    """The text, numbered if an earlier candidate has it: two equal candidates show the effect of chance."""
    number = 1
    numbered = text
    while numbered in ids:
        number += 1
        numbered = f"{text} #{number}"
    ids.add(numbered)
    return numbered


def only_name_known(candidate: Candidate) -> bool:
    """True if only the name of a candidate's offering is known."""
    return candidate.offering == Offering(
        candidate.offering.provider, candidate.offering.region, candidate.offering.name
    )


# Categories of instances that may stand for each other: their memory per processor is adjacent.
_ADJACENT = {frozenset({"compute", "general"}), frozenset({"general", "memory"})}
# Another category, or an unknown one, weighs as much as 50 % more processors: exp(0.4) = 1.5.
_OTHER_CATEGORY = 0.4


def distance(match: Match, sold: Offering) -> float | None:
    """The distance of an offering from a match, None if it cannot stand for it.

    |ln(vcpus / requested)| + |ln(memory / requested)|, plus 0.4 for an adjacent or unknown category; properties that
    the match does not name do not count. An offering cannot stand for a match if a requested size of it is unknown.
    """
    total = 0.0
    for requested, offered in ((match.vcpus, sold.vcpus), (match.memory_gib, sold.memory_gib)):
        if requested is None:
            continue
        if not offered:
            return None
        total += abs(math.log(offered / requested))
    if match.category is None or match.category == sold.category:
        return total
    if sold.category is None or frozenset({match.category, sold.category}) in _ADJACENT:
        return total + _OTHER_CATEGORY
    return None


def nearest_offering(match: Match, offerings: Iterable[Offering]) -> Offering | None:
    """The offering at the smallest distance, among equals the cheapest, then the first by name; None for none."""
    reachable = [(away, sold) for sold in offerings if (away := distance(match, sold)) is not None]
    return min(reachable, key=lambda pair: (round(pair[0], 9), *_price(pair[1])))[1] if reachable else None


def _price(sold: Offering) -> tuple[float, str, str, str]:
    """The sort key among equally near offerings; its last part makes the result independent of the list's order."""
    amount = math.inf if sold.price is None else float(sold.price.amount_per_hour)
    return amount, sold.region, sold.name, repr(sold)


def differences(match: Match, sold: Offering) -> tuple[str, ...]:
    """The differences between an offering and a match, in words."""
    texts = []
    if match.vcpus is not None and sold.vcpus != match.vcpus:
        texts.append(f"{_number(sold.vcpus)} vCPUs instead of {_number(match.vcpus)}")
    if match.memory_gib is not None and sold.memory_gib != match.memory_gib:
        texts.append(f"{_number(sold.memory_gib)} GiB of memory instead of {_number(match.memory_gib)}")
    if match.category is not None and sold.category != match.category:
        texts.append(f"category {sold.category or 'unknown'} instead of {match.category}")
    return tuple(texts)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
