"""The start times of rounds, within the sessions of a study."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from zoneinfo import ZoneInfo

from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.study import Session, Study
from cloudcmp.units import format_seconds

# The windows that are tried for one round before a plan is refused: two years of days.
_WINDOWS_MAX = 800


@dataclass(frozen=True, slots=True)
class Round:
    """A round: one launch of every candidate. `start_s` counts from the plan's start."""

    number: int
    session: str | None
    start_s: float


def rounds_of(study: Study, round_s: float, start_at: float) -> tuple[Round, ...]:
    """The rounds of a study in the order of time; a round lasts `round_s`, `start_at` is Unix time.

    With `every`, a round starts at a step of it at which a session is open (or at every step, without sessions).
    Without it, sessions get one round an opening, so that a session's rounds are on different days; without sessions
    rounds follow each other. Raises UserMistake if they do not fit, with the number that does.
    """
    if study.every_s is not None and study.for_s is not None:
        starts = _at_steps(study, study.every_s, study.for_s, round_s, start_at)
    elif study.sessions:
        starts = _at_openings(study, round_s, start_at)
    else:
        starts = [(number * round_s, None) for number in range(study.launches)]
    in_time = enumerate(sorted(starts, key=itemgetter(0)))
    return tuple(Round(number, session, start) for number, (start, session) in in_time)


def _at_steps(
    study: Study, every_s: float, for_s: float, round_s: float, start_at: float
) -> list[tuple[float, str | None]]:
    if round_s > every_s:
        what = f"a round takes {format_seconds(round_s)} and starts every {format_seconds(every_s)}"
        raise UserMistake.at("every", f"{what}: 0 rounds fit", "write a longer every, or fewer probes")
    steps = math.floor((for_s - round_s) / every_s + 1e-9) + 1 if for_s >= round_s else 0
    wanted = study.launches * max(1, len(study.sessions))
    if not study.sessions:
        starts: list[tuple[float, str | None]] = [(step * every_s, None) for step in range(min(steps, wanted))]
    else:
        starts = list(_steps_in_sessions(study, every_s, steps, round_s, start_at))
    if len(starts) < wanted:
        what = f"{len(starts)} of {wanted} rounds fit into {format_seconds(for_s)}"
        raise UserMistake.at("for", what, "write a longer for, a shorter every, or fewer launches")
    return starts


def _steps_in_sessions(
    study: Study, every_s: float, steps: int, round_s: float, start_at: float
) -> Iterator[tuple[float, str | None]]:
    """The steps at which a session that still needs rounds is open for a whole one."""
    missing = {session.name: study.launches for session in study.sessions}
    for step in range(steps):
        if not any(missing.values()):
            return
        begins = start_at + step * every_s
        for session in study.sessions:
            opens, closes = next(windows(session, begins))
            if missing[session.name] and opens <= begins and begins + round_s <= closes:
                missing[session.name] -= 1
                yield step * every_s, session.name
                break


def _at_openings(study: Study, round_s: float, start_at: float) -> list[tuple[float, str | None]]:
    """For each session the first openings, one round in each; a round that would overlap another starts after it."""
    calendars = {session.name: windows(session, start_at) for session in study.sessions}
    upcoming = {name: next(calendar) for name, calendar in calendars.items()}
    missing = {session.name: study.launches for session in study.sessions}
    tried, free_at = 0, start_at
    starts: list[tuple[float, str | None]] = []
    while missing:
        name = min(missing, key=lambda name: max(upcoming[name][0], free_at))
        opens, closes = upcoming[name]
        upcoming[name] = next(calendars[name])
        begins = max(opens, free_at)
        if begins + round_s <= closes:
            starts.append((begins - start_at, name))
            free_at, tried = begins + round_s, 0
            missing[name] -= 1
            if not missing[name]:
                del missing[name]
        elif tried == _WINDOWS_MAX:
            raise _too_long(study.sessions, name, round_s, len(starts))
        tried += 1
    return starts


def _too_long(sessions: Sequence[Session], name: str, round_s: float, fit: int) -> CloudcmpError:
    session = next(session for session in sessions if session.name == name)
    hours = format_seconds(session.until_s - session.from_s)
    what = f"a round takes {format_seconds(round_s)} and session {name!r} is open for {hours}: {fit} rounds fit"
    return UserMistake.at("sessions", what, "write longer hours, or fewer probes")


_DAY_S = 86400


def windows(session: Session, after: float) -> Iterator[tuple[float, float]]:
    """The windows (opens, closes) that are open at Unix time `after` or later, in order, endlessly.

    Hours are local time, so a window keeps its hours when daylight saving time begins or ends, and is an hour shorter
    or longer if that happens inside it. A window that becomes empty is skipped.
    """
    zone = ZoneInfo(session.timezone)
    day = datetime.fromtimestamp(after, zone).date() - timedelta(days=1)
    while True:
        if day.weekday() in session.days:
            opens, closes = _wall(day, session.from_s, zone), _wall(day, session.until_s, zone)
            if closes > max(opens, after):
                yield opens, closes
        day += timedelta(days=1)


def _wall(day: date, seconds: int, zone: ZoneInfo) -> float:
    """The Unix time of a local time of day, in seconds past a day's midnight."""
    days, rest = divmod(seconds, _DAY_S)
    shown = datetime.combine(day + timedelta(days=days), datetime.min.time()) + timedelta(seconds=rest)
    return shown.replace(tzinfo=zone).astimezone(UTC).timestamp()


def next_opening(sessions: Sequence[Session], now: float) -> tuple[Session, float] | None:
    """The session that is open at Unix time `now`, with `now`, or else the next one, with its opening time.

    None without sessions: then every time is open.
    """
    openings = [(max(next(windows(session, now))[0], now), session) for session in sessions]
    if not openings:
        return None
    opens, session = min(openings, key=lambda pair: pair[0])
    return session, math.ceil(opens) if opens > now else now
