"""Builds a Study from a file's bytes: shapes first, then meaning, with all faults collected."""

import re
from collections.abc import Collection
from typing import Any, TypeVar

from cloudcmp.model.offering import Price
from cloudcmp.model.price import UnitPrice
from cloudcmp.model.selection import Stop
from cloudcmp.model.study import Session, Study
from cloudcmp.model.terms import NO_TERMS, Terms
from cloudcmp.study.candidates import HTTP, Scope, candidate, check
from cloudcmp.study.faults import Faults, shown
from cloudcmp.study.isolation import isolation_specs
from cloudcmp.study.probes import CellBook, decide, probe_specs, weights
from cloudcmp.study.shape import CandidateShape, DecideShape, Head, ProbeShape, SessionShape, fit
from cloudcmp.study.stop import stop, until
from cloudcmp.study.terms import terms
from cloudcmp.study.tree import Tree, read_tree
from cloudcmp.study.wan import wan_specs

_S = TypeVar("_S", CandidateShape, DecideShape, ProbeShape, SessionShape)
_REQUIRED = ("schema", "question", "candidates", "probes")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def build(
    content: bytes, file: str, default_name: str, *, providers: Collection[str], billed: Collection[str]
) -> Study:
    """The study; raises UserMistake with every fault."""
    faults = Faults(file)
    tree = read_tree(content, faults)
    if not isinstance(tree.data, dict):
        if tree.data is not None:
            faults.add((1, 1), "a study is made of key: value lines", "begin with schema: 1")
        faults.raise_any()
    study = _study(tree, _head(tree, faults), default_name, Scope(faults, tree, providers, billed))
    faults.raise_any()
    return study


def _head(tree: Tree, faults: Faults) -> Head:
    """The top-level keys; those of the wrong shape are reported and left at their defaults."""
    known = {field.alias or name for name, field in Head.model_fields.items()}
    # An empty key counts as one that is not written, unless it is misspelt.
    data: dict[str, Any] = {key: value for key, value in tree.data.items() if value is not None or key not in known}
    for key in _REQUIRED:
        if not data.get(key) and not (key == "probes" and (data.get("isolation") or data.get("wan"))):
            faults.add(tree.key((key,)), f"{key} is missing", _EXAMPLES[key])
    head = fit(Head, tree, data, (), faults)
    while head is None:
        good = {key: value for key, value in data.items() if fit(Head, tree, {key: value}, (), faults) is not None}
        head = fit(Head, tree, good, (), faults)
    return head


_EXAMPLES = {
    "schema": "write schema: 1",
    "question": 'write e.g. question: "Which cloud is fastest for us?"',
    "candidates": "write candidates: and under it - {provider: local, region: local, offering: 1cpu}",
    "probes": "write probes: and under it - {probe: stream}",
}


def _parts(shape: type[_S], key: str, items: list[Any], tree: Tree, faults: Faults) -> list[tuple[int, _S]]:
    """The entries of a list with the right shape, with their numbers."""
    shaped = ((number, fit(shape, tree, item, (key, number), faults)) for number, item in enumerate(items))
    return [(number, part) for number, part in shaped if part is not None]


def _study(tree: Tree, head: Head, default_name: str, scope: Scope) -> Study:
    faults = scope.faults
    entries = _parts(ProbeShape, "probes", head.probes, tree, faults)
    probes = probe_specs(entries, tree, faults)
    beside = isolation_specs(head.isolation, tree, faults)
    afar = wan_specs(head.wan, tree, faults, tuple(scope.providers))
    vantages, pages = afar or ((), ())
    probes = None if probes is None or beside is None or afar is None else (*probes, *beside, *pages)
    complete = len(entries) == len(head.probes) and probes is not None
    own = any(isinstance(item, dict) and "command" in item for item in head.probes)
    book = CellBook(probes or (), complete, own)
    parts = _parts(CandidateShape, "candidates", head.candidates, tree, faults)
    for number, item in enumerate(head.candidates):
        check(number, item, scope)
    specs = [candidate(number, part, book, scope) for number, part in parts]
    rule = stop(head, tree, faults)
    _money(head, parts, rule, scope)
    return Study(
        name=_name(tree, head, default_name, faults),
        question=head.question,
        candidates=tuple(specs),
        probes=probes or (),
        decide=decide(_parts(DecideShape, "decide", head.decide, tree, faults), book, tree, faults),
        weights=weights(head.weights, book, tree, faults),
        launches=head.launches,
        runs=head.runs,
        sessions=_sessions(_parts(SessionShape, "sessions", head.sessions, tree, faults), tree, faults),
        every_s=_together(tree, head, faults),
        for_s=head.for_,
        until=until(head, tree, faults),
        stop=rule,
        budget=head.budget,
        caps=head.caps,
        terms=_terms(head, scope),
        vantages=vantages,
        deadline_s=head.deadline,
        seed=head.seed,
    )


def _terms(head: Head, scope: Scope) -> Terms:
    """The account's terms; empty if the file has none."""
    if head.terms is None:
        return NO_TERMS
    return terms(head.terms, ("terms",), scope.tree, scope.faults, scope.providers)


def _name(tree: Tree, head: Head, default: str, faults: Faults) -> str:
    """The study's name, which also names its folder."""
    if head.name is None:
        return default
    if not NAME.fullmatch(head.name):
        what = f"name: {shown(head.name)} cannot name a folder"
        faults.add(tree.place(("name",)), what, "use letters, digits, - and _")
    return head.name


def _together(tree: Tree, head: Head, faults: Faults) -> float | None:
    """The `every` of a study, after checking that `every` and `for` are given together."""
    if head.every is not None and "for" not in tree.data:
        faults.add(tree.key(("every",)), "every needs for", "write how long it goes on, e.g. for: 7 days")
    if head.for_ is not None and "every" not in tree.data:
        faults.add(tree.key(("for",)), "for needs every", "write how often a round starts, e.g. every: 1 h")
    if head.every is not None and head.for_ is not None and head.every > head.for_:
        faults.add(tree.place(("every",)), "every is longer than for", "write e.g. every: 1 h and for: 7 days")
    return head.every


def _sessions(parts: list[tuple[int, SessionShape]], tree: Tree, faults: Faults) -> tuple[Session, ...]:
    """The time windows, each with its own name."""
    names: dict[str, int] = {}
    for number, part in parts:
        if part.name in names:
            what = f"the session name {shown(part.name)} was given before"
            faults.add(tree.place(("sessions", number, "name")), what, "give each session a name of its own")
        names[part.name] = number
    return tuple(Session(part.name, part.days, part.hours[0], part.hours[1], part.timezone) for _, part in parts)


def _money(head: Head, parts: list[tuple[int, CandidateShape]], rule: Stop | None, scope: Scope) -> None:
    """Checks that all money is in one currency, and that there is a budget if anything costs money."""
    tree, faults = scope.tree, scope.faults
    currency = head.budget.currency if head.budget else None
    if rule is not None and rule.spend is not None:
        if currency and rule.spend.currency != currency:
            what = f"spend: {rule.spend.currency}, but others are in {currency}"
            faults.add(tree.place(("stop", "spend")), what, "write all prices and the budget in one currency")
        currency = currency or rule.spend.currency
    for number, part in parts:
        for path, price in _prices(part):
            if currency and price.currency != currency:
                what = f"{' '.join(path)}: {price.currency}, but others are in {currency}"
                place = tree.place(("candidates", number, *path))
                faults.add(place, what, "write all prices and the budget in one currency")
            currency = currency or price.currency
        if part.provider in scope.billed and part.service != HTTP and "budget" not in tree.data:
            place = tree.place(("candidates", number, "provider"))
            faults.add(place, f"{part.provider} costs money and there is no budget", "write e.g. budget: 5 USD")
            return


def _prices(part: CandidateShape) -> list[tuple[tuple[str, ...], Price | UnitPrice]]:
    """The prices of a candidate, each with the keys that lead to it."""
    prices: dict[tuple[str, ...], Price | UnitPrice | None] = {
        ("price",): part.price,
        ("volume", "price"): part.volume.price if part.volume else None,
        ("resize_price",): part.resize_price,
        ("far", "price"): part.far.price if part.far else None,
        ("far", "traffic"): part.far.traffic if part.far else None,
    }
    return [(path, price) for path, price in prices.items() if price]
