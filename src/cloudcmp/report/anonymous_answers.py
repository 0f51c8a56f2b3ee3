"""Answers that are not about one finished study, without a name of a provider, an offering or a place.

The names are those of `anonymity`. What only words of a cloud could tell, such as why it cannot be used, is left out.
"""

from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.model.credits import CreditTable
from cloudcmp.model.history import History, Track
from cloudcmp.model.market import OfferKey
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.sla import SlaAnswer
from cloudcmp.model.start import CloudAccess, FetchedPrices, StarterStudy
from cloudcmp.report.anonymity import (
    Anonymity,
    anonymous_offering,
    anonymous_plan,
    check_cells,
    of_candidates,
    of_plan,
    sources_words,
)


def anonymous_quote(plan: Plan) -> Plan:
    """A plan to be run, under new names, with the lines of its expected cost."""
    names = of_plan(plan)
    found = anonymous_plan(plan, names)
    lines = (names.rewritten(plan.quote.lines), names.rewritten(plan.quote.own))
    return replace(found, quote=replace(found.quote, lines=lines[0], own=lines[1]))


def anonymous_history(history: History, candidates: Sequence[Candidate]) -> History:
    """A history under the new names of all candidates of its sources, in order; sources are numbered.

    The facts that changed with a level are left out: a kernel or an image can name a cloud in many ways. Raises
    UserMistake if the parameters of a measurement name an offering.
    """
    sources = {one.name: f"source {at}" for at, one in enumerate(history.sources, 1)}
    names = of_candidates(candidates, sources)
    check_cells((one.cell for one in history.tracks), names)
    return replace(
        history,
        sources=tuple(replace(one, name=sources[one.name]) for one in history.sources),
        tracks=tuple(_track(one, names) for one in history.tracks),
        outdated=tuple(
            replace(one, later=tuple(replace(later, change=replace(later.change, facts=())) for later in one.later))
            for one in history.outdated
        ),
        notes=tuple(map(names.text, history.notes)),
    )


def _track(one: Track, names: Anonymity) -> Track:
    changes = tuple(replace(change, facts=()) for change in one.changes)
    return replace(one, candidate=names.text(one.candidate), provider=names.provider(one.provider), changes=changes)


def anonymous_start(
    found: StarterStudy, fetched: Sequence[FetchedPrices]
) -> tuple[StarterStudy, tuple[FetchedPrices, ...]]:
    """What `start` shows, under new names; the study file itself keeps the real ones, because it is to be run."""
    places = [*(OfferKey(one.provider, one.region, "") for one in fetched),
              *(OfferKey(provider, region, "") for provider, region in found.unlisted),
              *(OfferKey(one.provider, "", "") for one in found.seen)]  # fmt: skip
    sold = [OfferKey(one.provider, one.region, one.name) for one in found.cheapest]
    names = of_candidates(found.plan.candidates, {found.plan.name: found.plan.name}, [*sold, *places])
    shown = replace(
        found,
        text="",
        plan=replace(anonymous_plan(found.plan, names), name=found.plan.name),
        seen=tuple(CloudAccess(names.provider(one.provider), one.usable, "") for one in found.seen),
        clouds=tuple(map(names.provider, found.clouds)),
        cheapest=tuple(anonymous_offering(one, names) for one in found.cheapest),
        unlisted=tuple(_place(names, provider, region) for provider, region in found.unlisted),
        left_out=(f"{len(found.left_out)} clouds are left out",) if found.left_out else (),
    )
    return shown, tuple(
        FetchedPrices(*_place(names, one.provider, one.region), one.prices, "no answer" if one.fault else "")
        for one in fetched
    )


def _place(names: Anonymity, provider: str, region: str) -> tuple[str, str]:
    key = names.key(OfferKey(provider, region, ""))
    return key.provider, key.region


def anonymous_sla(
    found: SlaAnswer, keys: Sequence[OfferKey], targets: Sequence[str], sources: Sequence[str]
) -> SlaAnswer:  # fmt: skip
    """An answer about service levels under the new names of offerings; services that were watched are numbered.

    So are agreements, whose words are left out: they name their provider. Sentences are made from what is returned.
    """
    services = {name: f"service {at}" for at, name in enumerate(dict.fromkeys(targets), 1)}
    names = Anonymity(keys, {**sources_words(sources), **services})
    tables = list(dict.fromkeys(one.table.name for one in found.credits))
    new = names.rewritten(replace(found, credits=()))
    return replace(
        new,
        credits=tuple(
            replace(
                one, target=services[one.target], table=_agreement(one.table, tables.index(one.table.name) + 1),
            )
            for one in found.credits
        ),
    )  # fmt: skip


def _agreement(table: CreditTable, number: int) -> CreditTable:
    name = f"agreement {number}"
    return replace(
        table, name=name, title=name, provider="", source="", down="as it says", bring=("what it asks for",), assumed=()
    )
