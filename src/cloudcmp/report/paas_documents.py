"""The data of the JSON document of `paas`."""

from dataclasses import fields
from typing import Any

from cloudcmp.model.platform import PlatformFigures

Data = dict[str, Any]


def paas(found: PlatformFigures) -> Data:
    """The document of `paas`: the figures of each platform, limits, and every request.

    Elsewhere `platform` is a place in `platforms`.
    """
    run = found.run
    return {
        "platforms": [
            {**_named(one), "memory_bytes": memory}
            for one, memory in zip(run.platforms, found.memory_bytes, strict=True)
        ],
        "started_at": run.started_at,
        "seed": run.seed,
        "pages": found.pages,
        "cold_starts": found.cold_starts,
        "loads": [
            {**_named(one), "refusals": [{"reason": reason, "count": count} for reason, count in one.refusals]}
            for one in found.scale_outs
        ],
        "limits": run.limits,
        "costs": found.costs,
        "requests": run.requests,
    }


def _named(value: Any) -> Data:
    return {one.name: getattr(value, one.name) for one in fields(value)}
