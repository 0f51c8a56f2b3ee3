"""Numbers that follow from a plan's seed and from names, never from what was drawn before."""

import hashlib
import random


def seed_of(*names: object) -> int:
    """A whole number below 2^48 that belongs to the names; JSON and SQLite keep it exactly."""
    text = "/".join(map(str, names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def generator(*names: object) -> random.Random:
    """A source of random numbers that belongs to the names."""
    return random.Random(seed_of(*names))
