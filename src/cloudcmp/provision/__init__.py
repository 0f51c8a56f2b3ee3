"""Machines on lease: never one that is not written down first, never one forgotten."""

from cloudcmp.provision.ledger import Journal, Ledger, Patience, patience_with, slot_of, token_of
from cloudcmp.provision.lifecycle import CLOUD_CRASH_POINTS, Release, acquire, release, release_all

__all__ = [
    "CLOUD_CRASH_POINTS",
    "Journal",
    "Ledger",
    "Patience",
    "Release",
    "acquire",
    "patience_with",
    "release",
    "release_all",
    "slot_of",
    "token_of",
]
