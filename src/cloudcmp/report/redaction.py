"""Replaces public addresses, account ids and instance ids by pseudonyms, in everything that leaves a study's folder.

The store keeps the real ids. A pseudonym is a keyed hash under the study's own random key: one id has the same
pseudonym everywhere in a study, and different ones in different studies; without the key, nobody can reverse it.
"""

import hashlib
import hmac
import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from cloudcmp.model.command import CommandUse
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.promise import Promise
from cloudcmp.model.result import Estimate, Winner
from cloudcmp.model.steadiness import Steadiness, SteadinessView
from cloudcmp.model.trial import Attempt
from cloudcmp.model.view import View

_LETTERS = 8
_SHORTEST_KNOWN = 6
# Prefixes of EC2's resource ids: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
_KINDS = {
    "i": "instance", "vol": "volume", "sg": "firewall", "sgr": "rule", "eni": "interface", "sir": "spot-request",
    "r": "reservation", "subnet": "subnet", "vpc": "network", "pg": "placement", "snap": "snapshot", "h": "host",
    "eipalloc": "address", "eipassoc": "address", "rtb": "route-table", "igw": "gateway", "fleet": "fleet",
}  # fmt: skip
_IPV4 = r"\d{1,3}(?:\.\d{1,3}){3}"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("arn", r"(?<![\w:])(?P<arn>arn:[\w-]+:[\w-]*:[\w-]*:)(?P<owner>\d{12})(?=:)"),
    ("dns", r"(?<![\w.-])ec2-(?P<dashed>\d{1,3}(?:-\d{1,3}){3})(?![\w-])"),
    ("thing", rf"(?<![\w-])(?P<of>{'|'.join(_KINDS)})-(?:[0-9a-f]{{17}}|[0-9a-f]{{8}})(?![\w-])"),
    ("key", r"(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{12,28}(?!\w)"),
    ("ipv4", rf"(?<![\w.-]){_IPV4}(?!\w|\.\d|-\d)"),
    ("ipv6", r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,40}(?:" + _IPV4 + r")?(?<![^:]:)(?!\w|:\w|\.\d)"),
    # A number of twelve digits is an account, unless it has a unit.
    ("account", r"(?<![\w.=/-])\d{12}(?![\w-]|\.\d|[ ]?(?:B|[kKMGT]i?B|bytes|s|ns|op)\b)"),
)


class Pseudonyms:
    """Replaces ids of accounts and machines. `known` are further ids, exactly as written, with their kinds."""

    def __init__(self, key: bytes, known: Mapping[str, str] | None = None) -> None:
        self._key = key
        self._known = {id: kind for id, kind in (known or {}).items() if len(id) >= _SHORTEST_KNOWN}
        listed = "|".join(re.escape(one) for one in sorted(self._known, key=lambda one: (-len(one), one)))
        parts = [f"(?P<{name}_>{pattern})" for name, pattern in _PATTERNS]
        self._pattern = re.compile("|".join([rf"(?<!\w)(?P<known_>{listed})(?!\w)", *parts] if listed else parts))

    def name(self, kind: str, id: str) -> str:
        """Return the pseudonym of one id, such as `instance-1c9e04b7`."""
        digest = hmac.new(self._key, f"{kind}\n{id}".encode(), hashlib.sha256).hexdigest()
        return f"{kind}-{digest[:_LETTERS]}"

    def text(self, text: str) -> str:
        """Return the text with a pseudonym for each id and each public address; private addresses stay."""
        return self._pattern.sub(self._replaced, text) if len(text) >= _SHORTEST_KNOWN or ":" in text else text

    def _replaced(self, found: re.Match[str]) -> str:
        whole = found[0]
        match found.lastgroup:
            case "known_":
                return self.name(self._known[whole], whole)
            case "arn_":
                return f"{found['arn']}{self.name('account', found['owner'])}"
            case "dns_":
                return self._address(found["dashed"].replace("-", "."), whole)
            case "thing_":
                return self.name(_KINDS[found["of"]], whole)
            case "ipv4_" | "ipv6_":
                return self._address(whole, whole)
            case kind:
                return self.name((kind or "id").removesuffix("_"), whole)

    def _address(self, text: str, whole: str) -> str:
        """Return the pseudonym of a public address; any other text is unchanged."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return whole
        return self.name("address", str(address)) if address.is_global else whole


def known_ids(plan: Plan, leased: Mapping[str, str]) -> dict[str, str]:
    """Return the ids that a study knows: those that it `leased` (id to kind), and pinned accounts."""
    accounts = {text: "account" for one in plan.candidates for key, text in one.options if key == "account"}
    return {**leased, **accounts}


class TextChange(Protocol):
    """What replaces names or ids within texts."""

    def text(self, text: str) -> str:
        """Return the text with each replaced."""


def hidden(view: View, by: TextChange) -> View:
    """Return a view without ids: numbers, cells and names of metrics stay, ids in every text are replaced."""
    text = cache(by.text)  # most texts of a study come again and again
    return replace(
        view,
        plan=_plan(view.plan, text),
        analysis=_analysis(view.analysis, text),
        attempts=tuple(_attempt(one, text) for one in view.attempts),
        hosts=tuple((at, tuple((key, _fact(value, text)) for key, value in pairs)) for at, pairs in view.hosts),
        provenance=tuple((text(key), text(value)) for key, value in view.provenance),
        interruptions=tuple(map(text, view.interruptions)),
        warnings=tuple(map(text, view.warnings)),
        spend=None if view.spend is None else replace(view.spend, note=text(view.spend.note)),
        commands=tuple(_use(one, text) for one in view.commands),
        delivered=tuple(replace(one, promise=_promise(one.promise, text)) for one in view.delivered),
        steadiness=view.steadiness and _steadiness(view.steadiness, text),
    )


def _steadiness(found: SteadinessView, text: Callable[[str], str]) -> SteadinessView:
    def reworded(one: Steadiness) -> Steadiness:
        facts = tuple(
            replace(fact, low=tuple(map(text, fact.low)), high=tuple(map(text, fact.high)))
            for fact in (one.levels.facts if one.levels else ())
        )
        return replace(one, levels=one.levels and replace(one.levels, facts=facts))

    pairs = tuple(replace(one, reason=text(one.reason)) for one in found.pairs)
    return replace(found, figures=tuple(map(reworded, found.figures)), pairs=pairs)


def _plan(plan: Plan, text: Callable[[str], str]) -> Plan:
    quote = replace(plan.quote, notes=tuple(map(text, plan.quote.notes)))
    candidates = tuple(_candidate(one, text) for one in plan.candidates)
    return replace(plan, name=text(plan.name), question=text(plan.question), candidates=candidates, quote=quote)


def _candidate(one: Candidate, text: Callable[[str], str]) -> Candidate:
    sold = one.offering
    attributes = tuple((key, _fact(value, text)) for key, value in sold.attributes)
    return replace(
        one,
        id=text(one.id),
        offering=replace(
            sold, name=text(sold.name), attributes=attributes, promises=tuple(_promise(p, text) for p in sold.promises)
        ),
        differs=tuple(map(text, one.differs)),
        options=tuple((key, text(value)) for key, value in one.options),
        far_zone=text(one.far_zone),
        far=_candidate(one.far, text) if one.far else None,
    )


def _promise(one: Promise, text: Callable[[str], str]) -> Promise:
    return replace(one, source=text(one.source), words=text(one.words))


def _use(one: CommandUse, text: Callable[[str], str]) -> CommandUse:
    return replace(
        one,
        name=text(one.name),
        lines=tuple(replace(line, text=text(line.text)) for line in one.lines),
        files=tuple(replace(file, path=text(file.path)) for file in one.files),
        on=tuple(map(text, one.on)),
    )


def _analysis(found: Analysis, text: Callable[[str], str]) -> Analysis:
    def reworded(winners: tuple[Winner, ...]) -> tuple[Winner, ...]:
        return tuple(replace(one, reason=text(one.reason), left_out=tuple(map(text, one.left_out))) for one in winners)

    return replace(
        found,
        estimates=tuple(_estimate(one, text) for one in found.estimates),
        comparisons=found.comparisons.worded(text),
        winners=reworded(found.winners),
        money=found.money.worded(text),
        money_winners=reworded(found.money_winners),
        answer=tuple(map(text, found.answer)),
    )


def _attempt(one: Attempt, text: Callable[[str], str]) -> Attempt:
    why, facts = text(one.why), _facts(one.facts, text)
    return one if (why, facts) == (one.why, one.facts) else replace(one, why=why, facts=facts)


def _estimate(one: Estimate, text: Callable[[str], str]) -> Estimate:
    reason, warnings = text(one.reason), tuple(map(text, one.warnings))
    unchanged = (reason, warnings) == (one.reason, one.warnings)
    return one if unchanged else replace(one, reason=reason, warnings=warnings)


def _fact(value: str, text: Callable[[str], str]) -> str:
    """Replace ids in a fact of a machine; a plain number, such as its memory in bytes, is no account."""
    return value if value.isdigit() else text(value)


def _facts(facts: str, text: Callable[[str], str]) -> str:
    """Return an agent's facts as JSON with pseudonyms; content that is not JSON is treated as one text."""
    try:
        parsed = json.loads(facts)
    except ValueError:
        return text(facts)
    return json.dumps(_leaves(parsed, text), sort_keys=True, separators=(",", ":"))


def _leaves(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _leaves(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_leaves(item, text) for item in value]
    return _fact(value, text) if isinstance(value, str) else value
