"""Price lists that are changed at random: no price is told that is not written in them, and no traceback."""

import random
import re
from collections.abc import Iterator
from decimal import Decimal

from tests.cost.fates import CLEAN, broken, fate


def mutated(n: int, seed: int) -> list[str]:
    """What is wrong with the fates of n lists that are changed at random, a line each."""
    wrong = []
    for number, (kind, files) in enumerate(_mutants(n, seed)):
        try:
            one = fate(kind, files)
        except Exception as error:  # a traceback is what must never be
            wrong.append(f"{kind} {number} of seed {seed}: {type(error).__name__}: {error}")
            continue
        # A digit that was changed makes another price, which nobody can tell from a true one; but it is written there.
        if one.price is not None and _written(kind, one.price.amount_per_hour, files):
            continue
        if why := broken(kind, one):
            wrong.append(f"{kind} {number} of seed {seed}: {why}")
    return wrong


def _written(kind: str, amount: Decimal, files: list[bytes]) -> bool:
    """Whether an amount stands in a list, or is the sum of two that do for two processors and eight GiB."""
    text = b"\n".join(files).decode(errors="replace")
    numbers = {Decimal(one) for one in re.findall(r"\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?", text)}
    if kind != "gcp":
        return amount in numbers
    parts = {(one / 10**9).normalize() for one in numbers if one == int(one)} | numbers
    return any((amount - 2 * core) / 8 in parts for core in parts)


def _mutants(n: int, seed: int) -> Iterator[tuple[str, list[bytes]]]:
    draw = random.Random(seed)
    kinds = list(CLEAN)
    for _ in range(n):
        kind = draw.choice(kinds)
        files = list(CLEAN[kind]())
        at = draw.randrange(len(files))
        content = bytearray(files[at])
        for _ in range(draw.choice((1, 1, 2, 5))):
            _mutate(content, draw)
        files[at] = bytes(content)
        yield kind, files


def _mutate(content: bytearray, draw: random.Random) -> None:
    if not content:
        return
    where = draw.randrange(len(content))
    way = draw.randrange(5)
    if way == 0:
        del content[where:]
    elif way == 1:
        content[where] ^= 1 << draw.randrange(8)
    elif way == 2:
        del content[where : where + draw.randrange(1, 200)]
    elif way == 3:
        part = content[where : where + draw.randrange(1, 200)]
        content[where:where] = part
    else:
        content[where:where] = draw.choice(
            (b"0", b"-", b'"', b"{", b"]", b"null", b"NaN", b"\xff", b"\n", b"1e9", b",")
        )
