"""Machines on lease: never one that is not written down first, never one forgotten."""

from cloudcmp.provision.arrival import Machine, Ready, Stopwatch, Ways, come_back
from cloudcmp.provision.hurry import ask_all
from cloudcmp.provision.ledger import Journal, Ledger, Part, Patience, patience_with, slot_of, token_of
from cloudcmp.provision.lifecycle import CLOUD_CRASH_POINTS, Release, acquire, release, release_all, release_before
from cloudcmp.provision.site import Keys, Office, set_up, tear_down

__all__ = [
    "CLOUD_CRASH_POINTS",
    "Journal",
    "Keys",
    "Ledger",
    "Machine",
    "Office",
    "Part",
    "Patience",
    "Ready",
    "Release",
    "Stopwatch",
    "Ways",
    "acquire",
    "ask_all",
    "come_back",
    "patience_with",
    "release",
    "release_all",
    "release_before",
    "set_up",
    "slot_of",
    "tear_down",
    "token_of",
]
