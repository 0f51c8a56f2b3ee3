"""Prints what the clients of a server felt, as its kernel tells, and what it cannot see."""

from rich.console import Console

from cloudcmp.model.passive import FeltTimes, Figure, Unseen
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import counted, format_quantity, format_seconds

_WORDS = {
    Unseen.WAY_IN: "what is lost on the way to the server (taken to be as much as on the way back)",
    Unseen.NAMES_AND_TLS: "name lookups, and TLS handshakes beyond the first round trip",
    Unseen.SHORT_CONNECTIONS: "connections that began and ended between two looks: as root, each end is reported",
    Unseen.LOST_REPORTS: "connections whose ends came faster than they could be read",
    Unseen.DROPPED_STAGE: "whether dropped handshakes were repeated after 1 s (the estimate) or sooner: the interval "
    "holds both",
    Unseen.OTHER_PORTS: "which port dropped a handshake: the counters are those of all ports here",
    Unseen.NO_COUNTERS: "handshakes that this server dropped: the kernel shows no counters",
    Unseen.EARLIER_REQUESTS: "on kept connections, all requests but the last",
}


def show_felt(console: Console, found: FeltTimes) -> None:
    """Print the estimate with its parts, then the queue, and what it does not hold."""
    if found.mean is None:
        text = f"port {found.port}: no answered request in {format_seconds(found.seconds)}"
        labelled(console, "ANSWER", text, "bold")
    else:
        felt = _value(found.mean, found.tick_s) + ("" if found.mean.bounds is None else f" ({_interval(found.mean)})")
        text = f"port {found.port}: clients felt {felt} for a request on a new connection, on average"
        labelled(console, "ANSWER", text, "bold")
        text = f"estimated from {counted(found.n, 'connection')} in {format_seconds(found.seconds)}; 95 % intervals"
        labelled(console, "", text)
        say(console, "")
        _parts(console, found)
        say(console, "")
    if found.queue_mean is not None:
        wait = "" if found.accept_wait_s is None else f", a wait of {format_quantity(found.accept_wait_s, 's')} each"
        text = f"{found.queue_mean:.2f} on average, {found.queue_most} at most, of {found.queue_limit} that may{wait}"
        labelled(console, "QUEUE", f"connections that waited to be accepted: {text}")
    if found.unused or found.unseen:
        text = f"{counted(found.unused, 'connection')} gave no time"
        if found.unseen is not None:
            verb = "was" if found.unseen == 1 else "were"
            text += f"; {found.unseen:,} {verb} accepted, here or at other ports, and not seen"
        labelled(console, "LEFT OUT", text, "yellow")
    text = f"times under {format_quantity(found.tick_s, 's')}: the kernel counts those of answers in such ticks"
    for at, one in enumerate([*([text] if found.n else []), *(_WORDS[one] for one in found.cannot_see)]):
        labelled(console, "CANNOT SEE" if not at else "", one)


def _parts(console: Console, found: FeltTimes) -> None:
    """Print what the mean is made of, then the shares behind the waits."""
    times = (
        ("connect, a round trip", found.connect, 0.0), ("request to whole answer", found.answer, found.tick_s),
        ("wait for lost handshakes", found.handshake_wait, 0.0), ("wait for lost requests", found.request_wait, 0.0),
        ("median without these waits", found.median, found.tick_s),
        ("95 % without these waits", found.p95, found.tick_s),
    )  # fmt: skip
    shares = (
        ("segments lost to clients", found.loss), ("handshakes dropped here", found.refused_share),
        ("connects of 1 s or more", found.waited_share),
    )  # fmt: skip
    rows = [[name, _value(one, tick_s), _interval(one), one.n] for name, one, tick_s in times if one is not None]
    rows += [[name, _percent(one), _percents(one), one.n] for name, one in shares if one is not None]
    table(console, ["part", Head("estimate"), Head("95 % interval"), Head("n")], rows, title="What it is made of")


def _value(one: Figure, tick_s: float) -> str:
    """A time, known to a tick."""
    return format_quantity(one.value, "s") if one.value >= tick_s else f"under {format_quantity(tick_s, 's')}"


def _interval(one: Figure) -> str:
    if one.bounds is None:
        return "too few"
    return f"{format_quantity(one.bounds.low, 's')} to {format_quantity(one.bounds.high, 's')}"


def _percent(one: Figure) -> str:
    return f"{one.value * 100:.2f} %"


def _percents(one: Figure) -> str:
    if one.bounds is None:
        return "too few"
    return f"{one.bounds.low * 100:.2f} to {one.bounds.high * 100:.2f} %"
