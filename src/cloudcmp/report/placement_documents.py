"""The data of the JSON document of `regions`."""

from dataclasses import fields
from typing import Any

from cloudcmp.model.placement import RegionsAnswer

Data = dict[str, Any]


def regions(found: RegionsAnswer) -> Data:
    """The document of `regions`: the best set, those of others, the front, how sure, and what was left out."""
    left = [{"site": site, "why": why} for site, why in found.left_out]
    certainty = None
    if found.certainty is not None:
        rivals = [
            {**_named(one), "measure": [{"place": place, "share": share} for place, share in one.measure]}
            for one in found.certainty.rivals
        ]
        ahead = [{"provider": name, "share": share} for name, share in found.certainty.ahead]
        certainty = {**_named(found.certainty), "rivals": rivals, "ahead": ahead}
    whole = _named(found)
    del whole["served"]  # for the map of the page
    return {**whole, "certainty": certainty, "left_out": left}


def _named(value: Any) -> Data:
    return {one.name: getattr(value, one.name) for one in fields(value)}
