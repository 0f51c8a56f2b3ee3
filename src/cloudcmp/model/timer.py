"""A timer that continues a study."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that continues the study `name` in `folder` every `every_s` seconds, if a round is due."""

    folder: Path
    name: str
    every_s: float
