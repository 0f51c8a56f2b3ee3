"""When a round may start: in its session's hours, and not before its step."""

from collections.abc import Callable
from datetime import UTC, datetime

from cloudcmp.model.plan import Launch, Plan
from cloudcmp.plan import next_opening
from cloudcmp.provider.time import Time, VirtualTime

_LOOK_S = 1.0  # how often a sleeper looks whether it was told to stop


async def until_open(plan: Plan, launch: Launch, time: Time, over: Callable[[], str], *, wait: bool) -> str:
    """Why the round of `launch` cannot start now, empty when it can; with `wait` sleeps until it can.

    `over` tells why there is nothing to wait for any more, empty as long as there is.

    Virtual time is where the plan puts it, so a simulated study never waits.
    """
    if isinstance(time, VirtualTime):
        return ""
    while (opens_at := _opens_at(plan, launch, time.now())) > time.now():
        if not wait:
            what = f"session {launch.session}" if launch.session else "the next round"
            return f"{what} starts at {datetime.fromtimestamp(opens_at, UTC):%Y-%m-%d %H:%M UTC}"
        if why := over():
            return why
        await time.sleep(min(_LOOK_S, opens_at - time.now()))
    return ""


def _opens_at(plan: Plan, launch: Launch, now: float) -> float:
    """The Unix time from which the round may start."""
    timed = plan.sessions or plan.every_s is not None
    due = max(now, plan.start_at + launch.start_s) if timed else now
    opening = next_opening([session for session in plan.sessions if session.name == launch.session], due)
    return due if opening is None else opening[1]
