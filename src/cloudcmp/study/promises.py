"""The rates that a study file says a provider promises of a candidate."""

from datetime import date
from typing import Any

from cloudcmp.catalog import nearest
from cloudcmp.model.promise import Promise, Promised
from cloudcmp.study.faults import shown
from cloudcmp.study.quantities import is_number
from cloudcmp.study.value_schemas import PROMISE_KEYS
from cloudcmp.units import parse_rate

_NEXT = "write advertised: [{of: network, up_to: 10 Gbit/s, source: its data sheet, as_of: 2026-11-01}]"
_EXAMPLES = {"B/s": "10 Gbit/s", "op/s": "3000"}


def promises(value: object) -> tuple[Promise, ...]:
    """The promises of a list of mappings; raises ValueError for one without a rate, a source, or the right unit."""
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        raise ValueError(f"{shown(value)} is no list of promises; {_NEXT}")
    found = tuple(_promise(one) for one in value)
    kinds = [(one.of, one.op) for one in found]
    if twice := next((one for one in kinds if kinds.count(one) > 1), None):
        raise ValueError(f"of: {twice[0].value} is promised twice; write one entry with baseline and up_to")
    return found


def _promise(fields: dict[Any, Any]) -> Promise:
    if odd := next((str(key) for key in fields if key not in PROMISE_KEYS), None):
        near = nearest(odd, PROMISE_KEYS)
        raise ValueError(f"unknown key {shown(odd)}; " + (f"nearest: {near}" if near else _NEXT))
    known = [one.value for one in Promised]
    if fields.get("of") not in known:
        raise ValueError(f"of: {shown(fields.get('of'))} is not promised by anybody; write one of {', '.join(known)}")
    of, op = Promised(fields["of"]), fields.get("op", "")
    if "op" in fields and (op not in {"read", "write"} or of is Promised.NETWORK):
        raise ValueError(f"op: {shown(op)} is no direction of a disk; write op: read or op: write, or leave it out")
    source = fields.get("source")
    if not isinstance(source, str) or not source.strip():
        raise ValueError("a promise needs its source: who says so, and where; write e.g. source: its data sheet")
    rates = {key: _rate(key, fields[key], of) for key in ("baseline", "up_to") if key in fields}
    if not rates:
        raise ValueError(f"of: {of.value} has no rate; write baseline: or up_to:, or leave it out")
    baseline, up_to = rates.get("baseline"), rates.get("up_to")
    if baseline is not None and up_to is not None and up_to < baseline:
        raise ValueError(f"of: {of.value}: up_to is less than baseline; write the higher rate as up_to")
    return Promise(of, baseline, up_to, " ".join(source.split()), _day(fields.get("as_of")), op)


def _rate(key: str, value: object, of: Promised) -> float:
    """A rate in B/s or op/s; zero is refused, because a promise of zero is an unknown one."""
    example = _EXAMPLES[of.unit]
    if of.unit == "op/s":
        if not is_number(value):
            raise ValueError(f"{key}: {shown(value)} is no number of operations a second; write e.g. {key}: {example}")
        rate = float(str(value))
    elif isinstance(value, str):
        rate = parse_rate(value)
    else:
        raise ValueError(f"{key}: {shown(value)} needs a unit of rate; write e.g. {key}: {example}")
    if rate <= 0:
        raise ValueError(f"{key}: a promise of zero is an unknown one; leave it out, or write e.g. {key}: {example}")
    return rate


def _day(value: object) -> date | None:
    try:
        return None if value is None else date.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"as_of: {shown(value)} is no day; write e.g. as_of: 2026-11-01") from None
