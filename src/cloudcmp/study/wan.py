"""The `wan` of a study: the vantage points from which endpoints are seen, and the pages that are fetched from each."""

import ipaddress
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from cloudcmp.catalog import canonical, hint
from cloudcmp.catalog.cities import position_of
from cloudcmp.catalog.lookup import probe_of
from cloudcmp.catalog.tables.wan import SIZES
from cloudcmp.errors import UserMistake
from cloudcmp.model.study import ProbeSpec, VantageSpec
from cloudcmp.model.wide_area import Position, VantagePoint
from cloudcmp.study import value_schemas as schemas
from cloudcmp.study.faults import Faults, Path, shown
from cloudcmp.study.shape import Positive, Shape, Whole, Word, fit
from cloudcmp.study.tree import Tree

OWNED = ("local", "netns", "ssh")
"""The providers whose machines a vantage point may be: they exist before the study, and cost nothing by the hour."""
SIMULATED = "simulated"
_PAGE = "page"


def _position(value: object) -> Position:
    """A position of two numbers, or that of a city."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, int | float) for one in value):
        value = f"{value[0]},{value[1]}"
    found = position_of(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{shown(value)} is no known place; write at: [59.3, 18.1], latitude and longitude, or a city")
    return found


Place = Annotated[Position, BeforeValidator(_position), WithJsonSchema(schemas.PLACE)]


def _address(value: object) -> str:
    """One address of a machine, as text."""
    try:
        found = ipaddress.ip_address(value) if isinstance(value, str) else None
    except ValueError:
        found = None
    if found is None or "%" in str(value):
        raise ValueError(f"{shown(value)} is no single address; write address: 203.0.113.7, without a range or a port")
    mapped = found.version == 6 and found.ipv4_mapped is not None
    if mapped or found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified:
        raise ValueError(f"{found} is no address from which another network is reached; write the public one")
    return str(found)


Address = Annotated[str, BeforeValidator(_address), WithJsonSchema({"type": "string", "minLength": 2})]


class VantageShape(Shape):
    """One vantage point."""

    name: Word
    provider: Word = "local"
    offering: Word | None = None
    at: Place | None = None
    country: Word = ""
    weight: Positive = 1.0
    address: Address = ""


class WanShape(Shape):
    """Vantage points, and the pages that are fetched from each; the vantage points are checked one by one."""

    vantages: list[Any]
    sizes: list[Any] = Field(default_factory=lambda: list(SIZES))
    pages: Whole = 20


def wan_specs(
    data: Any, tree: Tree, faults: Faults, providers: Sequence[str]
) -> tuple[tuple[VantageSpec, ...], tuple[ProbeSpec, ...]] | None:
    """The vantage points and the probes of a `wan`; two empty tuples without one, None if anything is wrong."""
    if data is None:
        return (), ()
    shape = fit(WanShape, tree, data, ("wan",), faults)
    if shape is None:
        return None
    for key in ("vantages", "sizes"):
        if not getattr(shape, key):
            faults.add(tree.place(("wan", key)), f"{key}: the list is empty", "write one, or leave wan out")
            return None
    sizes = [_size(item, number, tree, faults) for number, item in enumerate(shape.sizes)]
    vantages = [_vantage(item, number, tree, faults, providers) for number, item in enumerate(shape.vantages)]
    known = [one for one in vantages if one is not None]
    right = _distinct([one.point.name for one in known], tree, faults)
    if not right or len(known) < len(vantages) or None in sizes:
        return None
    where = faults.where(tree.place(("wan",)))
    kept = tuple(dict.fromkeys(filter(None, sizes)))
    # All addresses of a name are pinged once in a run, beside the first size.
    probes = [
        ProbeSpec(where, _PAGE, tuple(sorted(_params(one, size, shape.pages, first=size == kept[0]).items())))
        for one in known
        for size in kept
    ]
    return tuple(known), tuple(probes)


def _params(one: VantageSpec, size: str, pages: int, *, first: bool) -> dict[str, str]:
    more = {"every_address": "yes"} if first else {}
    return {"count": str(pages), "size_bytes": size, "vantage": one.point.name} | more


def _size(item: Any, number: int, tree: Tree, faults: Faults) -> str | None:
    """A page's size in bytes; None if it is none."""
    try:
        return canonical(probe_of(_PAGE), "size_bytes", str(item).strip())
    except UserMistake as error:
        fault = error.faults[0]
        faults.add_text(tree.place(("wan", "sizes", number)), fault.what, "write sizes: [1 KB, 2 MB]")
        return None


def _vantage(item: Any, number: int, tree: Tree, faults: Faults, providers: Sequence[str]) -> VantageSpec | None:
    """One vantage point; its name alone stands for this machine."""
    path: Path = ("wan", "vantages", number)
    shape = fit(VantageShape, tree, {"name": item} if isinstance(item, str) else item, path, faults)
    if shape is None:
        return None
    place = tree.place(path)
    if shape.provider not in (*OWNED, SIMULATED):
        what = f"a vantage point of {shown(shape.provider)} would be rented, which no study does"
        if shape.provider not in providers:
            what = f"unknown provider {shown(shape.provider)}"
        faults.add(place, what, hint(shape.provider, OWNED, "") or "write provider: ssh and its name, once it runs")
        return None
    if shape.provider == "ssh" and shape.offering is None:
        faults.add(place, "a host with SSH has a name", "write offering: and its Host of ~/.ssh/config")
        return None
    try:
        canonical(probe_of(_PAGE), "vantage", shape.name)
        right = shape.name.replace("-", "").replace("_", "").replace(".", "").isalnum() and shape.name.isascii()
    except UserMistake:
        right = False
    if not right or len(shape.name) > 64:
        faults.add(place, f"name: {shown(shape.name)} is no plain word", "use letters, digits, - and _")
        return None
    point = VantagePoint(shape.name, shape.at, shape.country.upper(), weight=shape.weight)
    return VantageSpec(faults.where(place), point, shape.provider, shape.offering, shape.address)


def _distinct(names: Sequence[str], tree: Tree, faults: Faults) -> bool:
    for number, name in enumerate(names):
        if name in names[:number]:
            faults.add(tree.place(("wan", "vantages", number)), f"{shown(name)} was named before", "name it once")
            return False
    return True
