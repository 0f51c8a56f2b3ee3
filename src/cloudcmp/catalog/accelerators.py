"""Instance types with graphics processors or other accelerators, by the names of three clouds.

Source: the clouds' pages on accelerated machines (R, as of 2026). A processor's benchmark says nothing of their work.
"""

import re

_ACCELERATED = {
    "aws": re.compile(r"(?:p\d|gr?\d|trn\d|inf\d|dl\d|vt\d|f\d).*"),
    "azure": re.compile(r"Standard_N[CDGMPV]\d+.*"),
    "gcp": re.compile(r"(?:a2|a3|a4|a4x|g2|g4|ct\d\w*)-.*"),
}


def has_accelerator(provider: str, name: str) -> bool:
    """True if a type's name says that it has accelerators; False also for what is unknown."""
    pattern = _ACCELERATED.get(provider)
    return pattern is not None and pattern.fullmatch(name) is not None
