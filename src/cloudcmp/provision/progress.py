"""Progress lines for long waits: the resource, the time so far, and the rule that ends the wait."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from cloudcmp.model.lease import Lease
from cloudcmp.model.protocol import Provider
from cloudcmp.provision.ledger import Ledger, patience_with
from cloudcmp.units import format_seconds

FIRST_S = 2.0
"""Shorter waits print nothing."""
EVERY_S = 20.0

T = TypeVar("T")


async def run_with_progress(
    work: Coroutine[Any, Any, T],
    ledger: Ledger,
    providers: Mapping[str, Provider],
    say: Callable[[str], None],
    first_s: float = FIRST_S,
) -> T:
    """Runs work that ends leases and returns its result; meanwhile `say` gets a line on what it still waits for.

    Real seconds, also where the leases are simulated. Cancelling this cancels the work; a failing `say` does not.
    """
    say = best_effort(say)
    task, began, pause_s = asyncio.create_task(work), time.monotonic(), first_s
    try:
        while not (await asyncio.wait({task}, timeout=pause_s))[0]:
            say(_wait_line(ledger.open_leases(), providers, time.monotonic() - began))
            pause_s = EVERY_S
        return await task
    finally:
        task.cancel()


def best_effort(say: Callable[[str], None]) -> Callable[[str], None]:
    """A `say` that swallows failed writes: ending machines goes on without output."""

    def say_anyway(line: str) -> None:
        with suppress(OSError):
            say(line)

    return say_anyway


def _wait_line(leases: tuple[Lease, ...], providers: Mapping[str, Provider], after_s: float) -> str:
    after = f"after {format_seconds(after_s)}"
    if not leases:
        return f"{after}: looking for other resources with this study's tags"
    first, more = leases[0], len(leases) - 1
    others = f", and for {more} more" if more else ""
    return f"{after}: waiting for {lease_label(first)}: {_end_rule(first, providers.get(first.provider))}{others}"


def lease_label(lease: Lease) -> str:
    """Names a lease: its place, its kind, and its id or else its name."""
    return f"{lease.provider}/{lease.region} {lease.kind} {lease.cloud_id or lease.name}"


def _end_rule(lease: Lease, provider: Provider | None) -> str:
    """Describes the rule that ends a wait."""
    if provider is None:
        return "its provider is not at hand"
    patience = patience_with(provider)
    if lease.handle() is not None:
        return f"it is asked to go, and given up after {format_seconds(patience.give_up_s)}"
    return f"it may have been made, and is looked for until {format_seconds(patience.grace_s)} are over"
