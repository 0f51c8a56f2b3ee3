"""What the end of a connection says of a trial: its machine is gone, restarted, out of reach, or well."""

from contextlib import suppress

from cloudcmp.errors import ProviderFault
from cloudcmp.execute.cast import Gone, LaunchTargets, Link
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line


class Unreachable(Exception):
    """The machine is unreachable, and its provider does not report its state."""


async def if_connected(targets: LaunchTargets, silent: TrialResult) -> TrialResult:
    """The result if the connection held all the time; otherwise the silence does not count against the machine."""
    if targets.reconnect is None:
        return silent
    try:
        connected = await targets.reconnect() is Link.HELD
    except ProviderFault as fault:
        return await _unreachable(targets, f"{silent.why}: nothing came any more", fault)
    return silent if connected else TrialResult(Outcome.ABORTED, (), f"{silent.why}: the connection was lost meanwhile")


async def is_connected(targets: LaunchTargets) -> bool:
    """True if the connection to the launch's own machines held all the time, or if they need none."""
    if targets.reconnect is None:
        return True
    with suppress(ProviderFault):
        return await targets.reconnect() is Link.HELD
    return False


async def after_lost_connection(targets: LaunchTargets, what: str) -> TrialResult:
    """The result of a trial whose connection broke: its machine is gone, restarted, unreachable, or well."""
    preempted = await preempted_by_provider(targets.gone)
    if preempted is not None:
        return preempted
    line = one_line(what)
    if targets.reconnect is None:
        return TrialResult(Outcome.ABORTED, (), line)
    try:
        link = await targets.reconnect()
    except ProviderFault as fault:
        return await _unreachable(targets, line, fault)
    if link is Link.RESTARTED:
        return TrialResult(Outcome.FAILED, (), f"the machine restarted during the trial ({line})")
    return TrialResult(Outcome.ABORTED, (), f"{line}; the machine lives and is connected again")


async def _unreachable(targets: LaunchTargets, line: str, fault: ProviderFault) -> TrialResult:
    """The result if the provider says that the machine is gone; raises Unreachable otherwise."""
    preempted = await preempted_by_provider(targets.gone)
    if preempted is None:
        raise Unreachable(f"{line}; the machine is out of reach: {one_line(fault.faults[0].what)}") from fault
    return preempted


async def preempted_by_provider(gone: Gone) -> TrialResult | None:
    """The result if the provider says that the machine is gone; None if it does not, or does not answer."""
    with suppress(ProviderFault):
        evidence = await gone()
        if evidence is not None:
            return TrialResult(Outcome.PREEMPTED, (), f"the machine was taken away: {one_line(evidence)}")
    return None
