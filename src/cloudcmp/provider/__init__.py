"""Clouds behind one protocol: this machine, and simulated ones."""

from cloudcmp.provider.registry import ProviderOptions, make, names
from cloudcmp.provider.time import Time, VirtualTime, WallTime
