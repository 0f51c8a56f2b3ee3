"""Processor architectures of machines: as tables write them, and by the names that three clouds give to types.

Source: the clouds' pages on instance types (R, as of 2026). Of the types whose architecture the table of Spare Cores
names, a test counts those for which the name says otherwise.
"""

import re
from collections.abc import Callable
from functools import cache

X86, ARM = "x86_64", "arm64"
_SAME = {"x86_64": X86, "amd64": X86, "x86": X86, "i386": X86, "arm64": ARM, "aarch64": ARM, "arm64_mac": "",
         "x86_64_mac": ""}  # fmt: skip
_AWS = re.compile(r"(?P<letters>[a-z]+)(?:-[0-9a-z]+)*\d+(?P<options>[a-z-]*)(?:-[0-9a-z]+)?\.(?P<size>.+)")
_AZURE = re.compile(r"Standard_[A-Z]+\d+(?:-\d+)?(?P<options>[a-z]*)(?:_.+)?")
_GCP_ARM = re.compile(r"(?:t2a|c4a|n4a|a4x)-.+")


def same_architecture(word: str) -> str:
    """Return the architecture that a table's word means, `x86_64` or `arm64`; empty if it is unknown."""
    return _SAME.get(word.strip().casefold(), "")


@cache
def architecture_of(provider: str, name: str) -> str:
    """Return the architecture that the name of a type tells; empty for other clouds and other names."""
    known = _BY_NAME.get(provider)
    return known(name) if known else ""


def _aws(name: str) -> str:
    """Graviton has a g after the generation (m7g, c6gn, t4g); a1 was the first."""
    found = _AWS.fullmatch(name)
    if found is None:
        return ""
    if found["letters"].startswith("mac"):
        return ""
    return ARM if name.startswith("a1.") or found["options"].startswith("g") else X86


def _azure(name: str) -> str:
    """Ampere and Cobalt have a p after the size (D4ps_v5)."""
    found = _AZURE.fullmatch(name)
    if found is None:
        return ""
    return ARM if "p" in found["options"] else X86


def _gcp(name: str) -> str:
    return ARM if _GCP_ARM.fullmatch(name) else X86 if "-" in name else ""


_BY_NAME: dict[str, Callable[[str], str]] = {"aws": _aws, "azure": _azure, "gcp": _gcp}
