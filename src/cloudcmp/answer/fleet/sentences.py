"""An answer about a fleet in words: why nothing is told, and what a reader must know beside the figures."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from cloudcmp.answer.fleet.measure import LAUNCH_HOURS, MOST_LAUNCHES
from cloudcmp.model.fleet import FleetAnswer, Untold
from cloudcmp.units import Money

UNTOLD_WORDS = {
    Untold.NO_OFFERING: "no source has it in its region",
    Untold.NO_PRICE: "its price is unknown",
    Untold.NO_METRIC: "it was not measured",
    Untold.NO_MEMORY: "its memory is unknown",
    Untold.NO_ARCHITECTURE: "its architecture is unknown",
    Untold.ACCELERATED: "it has accelerators",
    Untold.OTHER_SYSTEM: "its price has a licence",
}
_FAR_FROM_LIST = 0.02
_SKIPPED = 3


def amount_words(amount: Decimal) -> str:
    """An amount of a month for people: whole units from 100 on."""
    return f"{amount:,.0f}" if abs(amount) >= 100 else f"{amount:,.2f}"


def money_words(money: Money) -> str:
    """Money of a month for people, with its currency."""
    return f"{amount_words(money.amount)} {money.currency}".rstrip()


def with_cautions(found: FleetAnswer) -> FleetAnswer:
    """Return the answer with what a reader must know beside its figures."""
    return replace(found, cautions=tuple(_cautions(found)))


def need_words(found: FleetAnswer) -> str:
    """What each machine needs, in words."""
    kept = f"; {', '.join(found.kept)} as today" if found.kept else ""
    return (
        f"the {found.metric} and memory that it uses (95th percentile) with {found.headroom * 100:g} % head-room, or "
        f"all that it has where its use is unknown{kept}"
    )


def _cautions(found: FleetAnswer) -> Iterator[str]:
    if found.simulated:
        yield "numbers are SIMULATED: planted values, not measured"
    if found.unmeasured:
        yield f"of {found.unmeasured:,} of {found.machines:,} machines the use is unknown: they need all that they have"
    if found.hot:
        yield f"{found.hot:,} machines use more CPU than the head-room leaves: they need all that they have"
    if found.paid is not None and found.paid < 1 - _FAR_FROM_LIST:
        yield (
            f"prices paid are {(1 - found.paid) * 100:.0f} % below list prices, and new offerings are counted at list "
            "prices: if your discounts hold for them too, they save more"
        )
    if found.dear:
        yield (
            f"{found.dear:,} machines cost more than the list price of their type, as with a licence: what is above "
            "it counts as no saving"
        )
    if found.close.amount:
        yield (
            f"{money_words(found.close)} a month depends on offerings that are too close to call even with "
            f"{MOST_LAUNCHES} launches"
        )
    if found.measurements:
        minutes = LAUNCH_HOURS * 60
        yield f"the price of measuring assumes {minutes:g} minutes for each launch: `cloudcmp plan` knows better"
    if any(one.elsewhere for one in found.moves):
        yield "moves marked * rest on measurements of another region"
    if found.skipped:
        most = sorted(found.skipped, key=lambda one: -one.rows)
        named = ", ".join(f"{one.rows:,} of {one.what}" for one in most[:_SKIPPED])
        more = f" and {len(most) - _SKIPPED} other kinds" if len(most) > _SKIPPED else ""
        yield f"rows that are no running machine: {named}{more}"
