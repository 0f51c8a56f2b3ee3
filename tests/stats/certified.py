"""How often a certified cloud is more than the tolerance behind the best: the promise's row on selection."""

import numpy as np
from tests.stats.markets import KINDS

from cloudcmp.stats.play import play
from cloudcmp.stats.selection import Certify

TOLERANCE, MOST = 0.02, 400


def wrong_in(kind: str, n: int, seed: int) -> tuple[int, int]:
    """The markets of a kind, of n, whose named cloud is beyond the tolerance, and those in which one is named."""
    markets = KINDS[kind](n, seed)
    played = play(Certify(float(np.log1p(TOLERANCE))), markets.draw, markets.shape, MOST)
    named = played.ended != 0
    return int((named & (markets.behind(played.lead) > TOLERANCE)).sum()), int(named.sum())
