"""Instance types whose full speed lasts only while credits do, or that share processors, by the names of their clouds.

Source: the clouds' pages on burstable and shared-core machines (R, as of 2026). Other clouds' names say nothing. AWS's
flex types promise 40 % of their processors, and all of them for 95 % of the time.
"""

import re

_BURSTABLE = {
    "aws": re.compile(r"(?:cache\.|db\.)?(?:t\d[a-z]*|[a-z]\d+[a-z]*-flex)\..+"),
    "azure": re.compile(r"(?:standard_)?b\d+[a-z]*(?:_.+)?", re.IGNORECASE),
    "gcp": re.compile(r"e2-(?:micro|small|medium)|f1-micro|g1-small"),
    "alicloud": re.compile(r"ecs\.t\d+.*"),
}
_WORDS = {"burstable": True, "shared": True, "dedicated": False}


def is_burstable(provider: str, name: str, allocation: str = "") -> bool | None:
    """True if a type is burstable or shares its processors, False if its cloud is known and it is not; None if unknown.

    `allocation` is what a table says of its processors: `BURSTABLE`, `SHARED` or `DEDICATED`. A name that says
    burstable counts more than a table that says dedicated.
    """
    pattern = _BURSTABLE.get(provider)
    if pattern is not None and pattern.fullmatch(name):
        return True
    said = _WORDS.get(allocation.lower())
    return said if said is not None else (False if pattern is not None else None)
