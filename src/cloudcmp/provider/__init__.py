"""Providers of machines behind one protocol."""

from cloudcmp.provider.registry import ProviderOptions, make, names
from cloudcmp.provider.time import Time, VirtualTime, WallTime
