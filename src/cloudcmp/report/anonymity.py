"""Replaces the names of providers, regions and offerings by those that CloudCmp used: C1, C1.DC1, C1.1.

Numbers follow the order of the study or of the market. Prices, sizes and measurements stay, and may still identify an
offering to a reader who knows price lists: this hides names, it is no promise of secrecy.

Source: Li et al., "CloudCmp: Comparing Public Cloud Providers", IMC 2010, section 5.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from pathlib import PurePath
from string import ascii_uppercase
from typing import Any, TypeVar

from cloudcmp.errors import UserMistake
from cloudcmp.model.market import OfferKey, counted, single
from cloudcmp.model.offering import Offering, Price, Volume
from cloudcmp.model.plan import Candidate, Plan, Quote
from cloudcmp.model.steadiness import Steadiness, SteadinessView
from cloudcmp.model.terms import NO_TERMS
from cloudcmp.model.view import View
from cloudcmp.model.wide_area import Site
from cloudcmp.report.redaction import hidden

T = TypeVar("T")
Attribute = str | float | Decimal

SIMULATED = "simulated"
"""The provider whose name stays as the runner of a candidate: it is the label of planted numbers."""
SEVERAL = "one of several"
"""What replaces a name in a text that offerings of several clouds have."""
QUESTION = "Which candidate is better? (names are replaced)"
NAME = "anonymous study"
_KEPT_PROVENANCE = ("cloudcmp", "agent sha256", "begun", "seed")
_KEPT_ATTRIBUTES = ("category", "runner", "count", "volume", "burstable")
_PART = re.compile(r"[a-z]+", re.IGNORECASE)


class Anonymity:
    """The new names of what is sold, and of every text that mentions it.

    `keys` are the offerings in order; `more` are further texts to replace, exactly as written, with their new ones.
    """

    def __init__(self, keys: Iterable[OfferKey], more: Mapping[str, str] | None = None) -> None:
        self._clouds: dict[str, str] = {}
        self._regions: dict[tuple[str, str], str] = {}
        self._offerings: dict[tuple[str, str], str] = {}
        known: dict[str, str] = {}
        for key in keys:
            new = self._add(key)
            for name, new_name in zip((*key, _cloud(key)), (*new, new.provider), strict=True):
                known[name] = new_name if known.get(name, new_name) == new_name else SEVERAL
            if SEVERAL in {known[key.name], known[key.region]}:
                known[str(key)] = str(new)
        known |= {**(more or {}), SIMULATED: SIMULATED}
        self._new = {name.casefold(): new for name, new in known.items() if name}
        listed = "|".join(map(_pattern, sorted(self._new, key=lambda one: (-len(one), one))))
        self._pattern = re.compile(listed, re.IGNORECASE)

    def _add(self, key: OfferKey) -> OfferKey:
        cloud = self._clouds.setdefault(_cloud(key), f"C{len(self._clouds) + 1}")
        for names, name, letters in ((self._regions, key.region, "DC"), (self._offerings, key.name, "")):
            if (cloud, name) not in names:
                count = sum(other == cloud for other, _ in names) + 1
                names[cloud, name] = f"{cloud}.{letters}{count}" if name else ""
        return self.key(key)

    def key(self, key: OfferKey) -> OfferKey:
        """The new names of an offering; a name that is not known as one is replaced as a text."""
        cloud = self._clouds[_cloud(key)]
        return OfferKey(cloud, self._regions[cloud, key.region], self._offering(cloud, key.name))

    def _offering(self, cloud: str, name: str) -> str:
        if (cloud, name) in self._offerings:
            return self._offerings[cloud, name]
        one, machines = single(name)
        known = self._offerings.get((cloud, one))
        return self.text(name) if known is None else counted(known, machines)

    def provider(self, name: str) -> str:
        """The new name of a provider; that of simulated numbers stays, and so does an empty one."""
        return self._clouds.get(name, name)

    def text(self, text: str) -> str:
        """The text with each name replaced, in any case of letters."""
        return self._pattern.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        return self._new[found[0].casefold()]

    def is_named_in(self, text: str) -> bool:
        """True if a name that is no plain word is part of a text."""
        folded = text.casefold()
        return any(name in folded for name in self._new if not _is_plain(name))

    def attributes(self, known: Mapping[str, Attribute]) -> dict[str, Attribute]:
        """The attributes of an offering that are numbers, or of the few that name none; their texts are replaced."""
        return {
            name: self.text(value) if isinstance(value, str) and not _is_number(value) else value
            for name, value in known.items()
            if not isinstance(value, str) or name in _KEPT_ATTRIBUTES or _is_number(value)
        }

    def rewritten(self, value: T) -> T:
        """A frozen value with all its texts and names of offerings and regions replaced, however deep."""
        return self._rewritten(value)  # type: ignore[no-any-return]

    def _rewritten(self, value: Any) -> Any:
        if isinstance(value, OfferKey):
            return self.key(value)
        if isinstance(value, Site):
            key = self.key(OfferKey(value.provider, value.region, ""))
            return replace(value, provider=key.provider, region=key.region)
        if type(value) is str:
            return self.text(value)
        if type(value) in {tuple, frozenset, list}:
            return type(value)(map(self._rewritten, value))
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{one.name: self._rewritten(getattr(value, one.name)) for one in fields(value)})
        return value


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _cloud(key: OfferKey) -> str:
    """The cloud of an offering; each region of `simulated` counts as a separate one."""
    return f"{key.provider}/{key.region}" if key.provider == SIMULATED else key.provider


def _is_plain(name: str) -> bool:
    return bool(_PART.fullmatch(name)) or name.isdigit()


def _pattern(name: str) -> str:
    """The pattern of a name: a plain word only between other characters, any other one also within a longer name."""
    if _is_plain(name):
        return rf"(?<![^\W_]){re.escape(name)}(?![^\W_])"
    return re.escape(name)


def key_of(offering: Offering) -> OfferKey:
    """The key of an offering."""
    return OfferKey(offering.provider, offering.region, offering.name)


def of_plan(plan: Plan) -> Anonymity:
    """The new names of a plan: offerings and places in the order of its candidates, their ends and their services."""
    return of_candidates(plan.candidates, {plan.name: NAME})


def of_market(keys: Iterable[OfferKey], sources: Sequence[str]) -> Anonymity:
    """The new names of offerings in their order, and of the sources that know them, as paths or by their file names."""
    return Anonymity(keys, sources_words(sources))


def of_places(
    places: Iterable[tuple[str, str]], sources: Sequence[str] = (), more: Mapping[str, str] | None = None
) -> Anonymity:
    """The new names of providers and their regions in their order, and of the sources, as those of offerings."""
    keys = [OfferKey(provider, region, "") for provider, region in places]
    return Anonymity(keys, {**sources_words(sources), **(more or {})})


def sources_words(sources: Sequence[str]) -> dict[str, str]:
    """What replaces the names of sources, as paths or by their file names."""
    return dict.fromkeys([name for one in sources for name in (one, PurePath(one).name)], "a source")


def of_candidates(
    candidates: Sequence[Candidate], more: Mapping[str, str] | None = None, others: Sequence[OfferKey] = ()
) -> Anonymity:
    """The new names of candidates, whose ids are unique, in their order; `more` are other texts, `others` come after.

    Candidates that share an offering have ids with its place, its volume, or a number.
    """
    ends = [end for one in candidates for end in one.ends]
    keys = [*(key_of(one.offering) for one in ends), *others]
    new = dict(more or {})
    for one, id in zip(candidates, _ids(candidates, Anonymity(keys)), strict=True):
        new.setdefault(one.id, id)
        zone = one.far_zone or dict(one.options).get("zone", "")
        if zone:
            new.setdefault(zone, "zone")
        for end in one.ends:
            new |= {} if end.volume is None else {end.volume.type: _volume(candidates, end.volume)}
    return Anonymity(keys, new)


def _volume(candidates: Sequence[Candidate], volume: Volume) -> str:
    types = list(dict.fromkeys(one.volume.type for one in candidates if one.volume))
    return f"V{types.index(volume.type) + 1}" if volume.type in types else "V"


def _ids(candidates: Sequence[Candidate], names: Anonymity) -> list[str]:
    """Unique new ids: the offering's name, with its place, its volume and a number where that is needed."""
    keys = [names.key(key_of(one.offering)) for one in candidates]
    ids = [key.name for key in keys]
    parts = (
        [f"@{key.region.partition('.')[2]}" for key in keys],
        [f"+{_volume(candidates, one.volume)}" if one.volume else "" for one in candidates],
        [f"#{at + 1}" for at in range(len(keys))],
    )
    for more in parts:
        twice = {id for id in ids if ids.count(id) > 1}
        ids = [id + part if id in twice else id for id, part in zip(ids, more, strict=True)]
    return ids


def anonymous_plan(plan: Plan, names: Anonymity) -> Plan:
    """A plan without a name of a provider, an offering or a place.

    Raises UserMistake if the parameters of a measurement name one: cells are what files of several studies share.
    """
    check_cells((cell for trial in plan.trials for cell in trial.cells), names)
    quote: Quote = replace(plan.quote, notes=tuple(map(names.text, plan.quote.notes)), lines=(), own=())
    return replace(
        plan,
        name=NAME,
        question=QUESTION,
        candidates=tuple(
            _candidate(one, id, plan, names)
            for one, id in zip(plan.candidates, _ids(plan.candidates, names), strict=True)
        ),
        trials=tuple(replace(one, cast=()) for one in plan.trials),
        usage=names.rewritten(plan.usage),
        quote=quote,
        commands=(),
        terms=NO_TERMS,
    )


def check_cells(cells: Iterable[str], names: Anonymity) -> None:
    """Raises UserMistake if the parameters of a measurement name an offering."""
    for cell in dict.fromkeys(cells):
        if names.is_named_in(cell):
            raise UserMistake.at("--anonymise", f"a measurement names an offering: {cell}", "leave the probe out")


def _candidate(one: Candidate, id: str, plan: Plan, names: Anonymity) -> Candidate:
    volume = one.volume and replace(
        one.volume, type=_volume(plan.candidates, one.volume), price=_price(one.volume.price)
    )
    service = one.service and replace(
        one.service, provider=names.provider(one.service.provider), region="", endpoint="", name="", api=""
    )
    return replace(
        one,
        id=id,
        offering=anonymous_offering(one.offering, names),
        runner=names.provider(one.runner),
        volume=volume,
        asked=None,
        differs=(),
        options=(),
        resize_price=_price(one.resize_price),
        beside=_price(one.beside),
        service=service,
        unit_prices=tuple(replace(price, source="", name="") for price in one.unit_prices),
        store=names.provider(one.store),
        far_zone="",
        far=_candidate(one.far, id, plan, names) if one.far else None,
        traffic_price=one.traffic_price and replace(one.traffic_price, source="", name=""),
    )


def anonymous_offering(sold: Offering, names: Anonymity) -> Offering:
    """An offering under its new names; its facts are its size and its price, because others name what it is."""
    key = names.key(key_of(sold))
    kept = tuple((name, str(value)) for name, value in names.attributes(dict(sold.attributes)).items())
    return replace(
        sold, provider=key.provider, region=key.region, name=key.name, price=_price(sold.price), attributes=kept,
        promises=tuple(replace(one, source="", words="") for one in sold.promises),
    )  # fmt: skip


def _price(price: Price | None) -> Price | None:
    return price and replace(price, source="", sku="", list="")


def anonymous(view: View) -> View:
    """A view without a name of a provider, an offering or a place.

    Facts of machines, commands, and the words of failures are left out: they can name a cloud in many ways.
    """
    names = of_plan(view.plan)
    shown = hidden(view, names)
    return replace(
        shown,
        plan=anonymous_plan(view.plan, names),
        attempts=tuple(replace(one, why="", facts="{}") for one in shown.attempts),
        hosts=tuple((at, ()) for at, _ in shown.hosts),
        provenance=tuple((key, value) for key, value in view.provenance if key in _KEPT_PROVENANCE),
        commands=(),
        spend=None,
        under=None,
        steadiness=shown.steadiness and _steadiness(shown.steadiness),
    )


def _steadiness(found: SteadinessView) -> SteadinessView:
    """The steadiness with letters for the values of facts that go with two levels."""

    def reworded(one: Steadiness) -> Steadiness:
        facts = tuple(
            replace(fact, low=_letters(len(fact.low)), high=_letters(len(fact.high), len(fact.low)))
            for fact in (one.levels.facts if one.levels else ())
        )
        return replace(one, levels=one.levels and replace(one.levels, facts=facts))

    return replace(found, figures=tuple(map(reworded, found.figures)))


def _letters(count: int, first: int = 0) -> tuple[str, ...]:
    return tuple(ascii_uppercase[at % len(ascii_uppercase)] for at in range(first, first + count))
