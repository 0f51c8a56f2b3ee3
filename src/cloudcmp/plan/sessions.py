"""The opening times of sessions, in local time of their time zones."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from cloudcmp.model.study import Session

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
