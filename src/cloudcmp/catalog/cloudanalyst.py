"""The regions, latencies and bandwidths that the simulator CloudAnalyst begins with.

Source: Wickremasinghe, Calheiros and Buyya, "CloudAnalyst: A CloudSim-based visual modeller for analysing cloud
computing environments and applications", AINA 2010, and the numbers that its screen of Internet characteristics shows.
"""

from cloudcmp.model.scenario import Matrix
from cloudcmp.model.wide_area import Continent

REGIONS = tuple(one.value for one in Continent)
"""North America, South America, Europe, Asia, Africa, Oceania: R0 to R5 there."""

_ONE_WAY_MS = (
    (25, 100, 150, 250, 250, 100),
    (100, 25, 250, 500, 350, 200),
    (150, 250, 25, 150, 150, 200),
    (250, 500, 150, 25, 500, 500),
    (250, 350, 150, 500, 25, 500),
    (100, 200, 200, 500, 500, 25),
)
_WITHIN_MBIT = (2000, 800, 2500, 1500, 500, 2000)
_BETWEEN_MBIT = 1000

_SOURCE = "CloudAnalyst's defaults (Wickremasinghe, Calheiros and Buyya, 2010)"

_POSITIONS = {"NA": (39.0, -95.0), "SA": (-15.0, -55.0), "EU": (50.0, 10.0), "AS": (30.0, 100.0), "AF": (5.0, 20.0),
              "OC": (-25.0, 134.0)}  # fmt: skip
"""A place in the middle of each region, which the simulator does not have: for a map alone."""

LATENCY = Matrix(
    REGIONS, REGIONS, tuple(tuple(ms / 1e3 for ms in row) for row in _ONE_WAY_MS), _SOURCE, tuple(_POSITIONS.items())
)  # fmt: skip
"""One way, in seconds."""

BANDWIDTH = Matrix(
    REGIONS, REGIONS,
    tuple(
        tuple((_WITHIN_MBIT[row] if row == column else _BETWEEN_MBIT) * 1e6 / 8 for column in range(len(REGIONS)))
        for row in range(len(REGIONS))
    ),
    _SOURCE,
)  # fmt: skip
"""In bytes per second, as the screen's Mbit/s mean it."""

GROUPING = (10, 10)
"""Requests in a message, and in a task of a machine."""
