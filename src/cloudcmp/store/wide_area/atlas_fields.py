"""The fields of one RIPE Atlas result, under the names that firmware of different versions gives them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cloudcmp.model.untrusted_text import one_line
from cloudcmp.model.wide_area import Phase
from cloudcmp.store.wide_area import cells
from cloudcmp.store.wide_area.cells import BadCell
from cloudcmp.store.wide_area.dns_answer import decode

_NEXT = "name the JSON of RIPE Atlas's results as it was fetched"


@dataclass(frozen=True, slots=True)
class Contact:
    """A target by name and address, the times in seconds that came back from it, and how many attempts were started.

    `n` attempts came back: more than there are values if a firmware gives only their mean.
    """

    name: str
    address: str
    values_s: tuple[float, ...]
    n: int
    started: int


def probe_of(one: dict[str, Any]) -> str:
    """The id of the probe; raises BadCell if there is none."""
    number = one.get("prb_id")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 10**12:
        raise BadCell("no prb_id, the number of a probe", _NEXT)
    return str(number)


def kind_of(one: dict[str, Any]) -> str:
    """The kind of a measurement: its type, or what its fields show if the firmware gives none."""
    kind = one.get("type")
    if isinstance(kind, str) and kind:
        return cells.name(kind)[:20].lower()
    result = one.get("result")
    if "rcvd" in one:
        return "ping"
    if isinstance(result, str) or (
        isinstance(result, list) and result and isinstance(result[0], dict) and "hop" in result[0]
    ):
        return "traceroute"
    if "resultset" in one or (isinstance(result, dict) and ("abuf" in result or "ANCOUNT" in result)):
        return "dns"
    if "cert" in one:
        return "sslcert"
    return "http" if "uri" in one else "unknown"


def ping_contact(one: dict[str, Any]) -> Contact:
    """The round trips of a ping, without duplicate replies."""
    name, address = _target(one)
    sent, received = _count(one, "sent"), _count(one, "rcvd")
    replies = one.get("result")
    if not isinstance(replies, list):
        n = received or 0
        means = [_seconds("avg", one.get("avg"))] if n else []
        return Contact(name, address, tuple(means), n, max(sent or 0, n, 1))
    whole = [_object(reply) for reply in replies]
    values = tuple(_seconds("rtt", each["rtt"]) for each in whole if "rtt" in each and "dup" not in each)
    attempts = sum("dup" not in each for each in whole)
    return Contact(name, address, values, len(values), max(sent or 0, attempts, len(values), 1))


def traceroute_contact(one: dict[str, Any]) -> Contact | None:
    """The round trips of the last hop, if it is the target; None for a traceroute as text."""
    name, address = _target(one)
    hops = one.get("result")
    if isinstance(hops, str):
        return None
    if not isinstance(hops, list):
        raise BadCell("a traceroute without hops", _NEXT)
    started = 1
    for hop in reversed(hops):
        replies = _object(hop).get("result")
        if not isinstance(replies, list) or not replies:
            continue
        whole = [_object(reply) for reply in replies]
        values = tuple(
            _seconds("rtt", each["rtt"]) for each in whole
            if "rtt" in each and each.get("from") == address and not {"err", "late", "edst"} & set(each)
        )  # fmt: skip
        started = max(started, len(whole))
        if values:
            return Contact(name, address, values, len(values), len(whole))
    return Contact(name, address, (), 0, started)


def dns_answers(one: dict[str, Any]) -> Iterator[tuple[Contact, tuple[str, ...]]]:
    """Yield the lookups of a result: the time of each, with the name that was asked for, and the addresses it gave."""
    parts = one.get("resultset", [one])
    if not isinstance(parts, list):
        raise BadCell("the resultset is no list", _NEXT)
    for part in map(_object, parts):
        result = part.get("result")
        if result is not None:
            result = _object(result)
        answer = _decoded(result, "abuf") if result else None
        question = answer or _decoded(part, "qbuf") or _decoded(one, "qbuf")
        name = question.name if question else ""
        values = (_seconds("rt", result["rt"]),) if result and "rt" in result else ()
        yield Contact(name, "", values, len(values), 1), answer.addresses if answer else ()


def tls_contact(one: dict[str, Any]) -> tuple[Contact, Contact]:
    """The times to connect, and from there to the certificates; empty where the firmware gives none."""
    name, address = _target(one)
    failed = any(key in one for key in ("err", "dnserr", "alert"))
    connect = None if failed else _optional("ttc", one.get("ttc"))
    whole = None if failed else _optional("rt", one.get("rt"))
    tls = None
    if connect is not None and whole is not None:
        if whole < connect:
            raise BadCell(f"rt {whole * 1e3:g} is less than ttc {connect * 1e3:g}", _NEXT)
        tls = whole - connect
    return _one(name, address, connect), _one(name, address, tls or None)


def http_contacts(one: dict[str, Any]) -> Iterator[tuple[dict[Phase, Contact], int | None]]:
    """Yield, for each request of a result, its times by phase, and the bytes of the body.

    With https the firmware does not part TLS from the first byte: only the connection counts then.
    """
    scheme, host = _scheme_and_host(one.get("uri"))
    some = one.get("result")
    if not isinstance(some, list):
        raise BadCell("an HTTP result without a list of requests", _NEXT)
    for part in map(_object, some):
        _, address = _target(part)
        if any(key in part for key in ("err", "dnserr")):
            yield {Phase.PAGE: _one(host, address, None)}, None
            continue
        resolve, connect, first, whole = (_optional(key, part.get(key)) for key in ("ttr", "ttc", "ttfb", "rt"))
        if (connect or 0) > (first or math.inf) or (first or 0) > (whole or math.inf):
            raise BadCell("ttc, ttfb and rt are not in their order", _NEXT)
        times: dict[Phase, float | None] = {Phase.DNS: resolve, Phase.CONNECT: connect}
        if scheme != "https":
            times[Phase.FIRST_BYTE] = first - connect if first and connect and first > connect else None
            times[Phase.TRANSFER] = whole - first if whole and first and whole > first else None
            times[Phase.PAGE] = whole + resolve if whole and resolve else None
        size = _count(part, "bsize")
        yield {phase: _one(host, address, time) for phase, time in times.items() if time is not None}, size


def _scheme_and_host(uri: Any) -> tuple[str, str]:
    """The scheme and host of a URI; empty if it is none."""
    try:
        parts = urlsplit(uri if isinstance(uri, str) else "")
        return parts.scheme, parts.hostname or ""
    except ValueError:
        return "", ""


def _one(name: str, address: str, time: float | None) -> Contact:
    return Contact(name, address, () if time is None else (time,), int(time is not None), 1)


def _target(one: dict[str, Any]) -> tuple[str, str]:
    """The name and the address of the target; empty where a field is missing or no text."""
    found = []
    for keys in (("dst_name", "name"), ("dst_addr", "addr", "address")):
        text = next((one[key] for key in keys if isinstance(one.get(key), str)), "")
        found.append(one_line(text, cells.LONGEST))
    return found[0], found[1]


def _decoded(one: dict[str, Any], key: str) -> Any:
    text = one.get(key)
    return decode(text) if isinstance(text, str) else None


def _object(one: Any) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise BadCell(f"{one_line(one, 40)!r} in place of an object", _NEXT)
    return one


def _count(one: dict[str, Any], key: str) -> int | None:
    value = one.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**9:
        raise BadCell(f"{key} {one_line(value, 40)} is no count", _NEXT)
    return value


def _seconds(key: str, value: Any) -> float:
    """A time in milliseconds, in seconds; raises BadCell if it is none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise BadCell(f"{key} {one_line(value, 40)!r} is no number", _NEXT)
    try:
        number = float(value)
    except OverflowError:
        raise BadCell(f"{key} is no time", _NEXT) from None
    return cells.checked_seconds(key, number / 1e3, one_line(value, 40))


def _optional(key: str, value: Any) -> float | None:
    return None if value is None else _seconds(key, value)
