"""Prints the answer about service levels: one sentence first, then each claim, credit, utility and arrangement."""

from collections.abc import Iterator

from rich.console import Console

from cloudcmp.answer.sla.words import share_words, target_words
from cloudcmp.model.credits import CreditFinding
from cloudcmp.model.service_level import Quantity, Standing
from cloudcmp.model.sla import EvidenceUse, SlaAnswer
from cloudcmp.report.grids import Grid
from cloudcmp.report.sla_claims import budget_grid, claim_grids, needs_grid, planned_grid, windows_grid
from cloudcmp.report.sla_money import credit_grid, expected_words, levels_grid, nines_grid, unwatched, utility_grids
from cloudcmp.report.table import labelled, say, table
from cloudcmp.units import are, counted

_MOST_SENTENCES = 4
"""Of more claims the tables tell."""
_THROUGHPUT = (
    "throughput is the body of an answer over the whole time of its request, connection and wait included: of small "
    "answers it tells the latency, and never how many requests a second the service can answer"
)
_STYLES = {Standing.MET: "green", Standing.BROKEN: "red", Standing.CANNOT_TELL: "yellow"}


def show_sla(console: Console, found: SlaAnswer) -> None:
    """Print the answer; each bound is as sure as the answer says."""
    style = _STYLES[found.claims[0].standing] if len(found.claims) == 1 else ""
    say(console, found.sentence, f"bold {style}".strip())
    for at, (label, text, shade) in enumerate(lines(found)):
        if not at:
            say(console, "")
        labelled(console, label, text, shade)
    for grid in grids(found):
        say(console, "")
        table(console, grid.heads, grid.rows, title=grid.title, note=grid.note)


def lines(found: SlaAnswer) -> Iterator[tuple[str, str, str]]:
    """Yield what to read before the tables: label, text, style."""
    claims = found.claims if len(found.claims) <= _MOST_SENTENCES else ()
    sentences = [
        *(one.sentence for one in claims), *(one.sentence for one in found.planned),
        *(one.sentence for one in found.credits), *(one.sentence for one in found.nines),
    ]  # fmt: skip
    sentences += [one.sentence for one in (found.utility, found.levels) if one is not None]
    for sentence in sentences:
        if sentence != found.sentence:
            yield "", sentence, ""
    for credit in found.credits:
        if credit.expected is not None:
            yield "EXPECT", expected_words(credit), ""
    for claimed in dict.fromkeys(credit.table for credit in found.credits if _is_claimed(credit)):
        yield "BRING", f"{claimed.name}: {'; '.join(claimed.bring)}", ""
    for text in dict.fromkeys((*_cautions(found), *found.notes)):
        yield "MIND", text, "yellow"


def _is_claimed(credit: CreditFinding) -> bool:
    return any(one.claim_until is not None for one in credit.periods)


def _cautions(found: SlaAnswer) -> Iterator[str]:
    if found.simulated:
        yield "SIMULATED: these numbers are planted, not measured"
    for used in found.evidence:
        if used.unsigned:
            with_them = f"are left out; with them, as --unsigned counts, {_good(used)} of samples are good"
            how = "count, as asked" if used.counted else with_them
            many = f"{used.unsigned:,} of {counted(used.samples, 'sample')}, of which {used.unsigned_failed:,} failed"
            yield (f"{used.source}: {many}, {how}; no watcher signed them that wrote them, and anyone with the folder "
                   "could have written them")  # fmt: skip
    for one in found.claims:
        if one.failed and one.claim.share is None:
            many = f"{one.failed:,} of {counted(one.n, 'sample')} failed and {are(one.failed)}"
            yield f"'{one.claim.text}': {many} in no mean"
    for credit in found.credits:
        known = credit.table
        yield f"{known.name}: text of {known.text_of}, known from {known.verified.value}"
        yield from (f"{known.name}: {one}" for one in known.assumed)
        yield from unwatched(credit)
    if found.claims:
        yield "no bound covers what none of the watched days or launches had"
    if any(one.claim.quantity is Quantity.THROUGHPUT for one in found.claims):
        yield _THROUGHPUT
    if any(one.windows for one in found.claims):
        yield "samples see no outage between two of them; requests count alike at every hour"


def _good(used: EvidenceUse) -> str:
    """The share of all samples that were good."""
    return share_words(1.0 - used.failed / used.samples)


def grids(found: SlaAnswer) -> Iterator[Grid]:
    """Yield the tables of an answer."""
    sure = target_words(found.confidence)
    if found.claims:
        yield from claim_grids(found.claims, sure)
    for one in found.claims:
        if one.windows:
            yield windows_grid(one)
        if one.budget is not None and one.budget.burns:
            yield budget_grid(one)
    if undecided := [one for one in found.claims if one.standing is Standing.CANNOT_TELL]:
        yield needs_grid([(one.claim, one.requirement) for one in undecided])
    if found.planned:
        yield planned_grid(found.planned, sure)
    for credit in found.credits:
        yield credit_grid(credit)
    if found.utility is not None:
        yield from utility_grids(found.utility)
    if found.levels is not None:
        yield levels_grid(found.levels)
    for nines in found.nines:
        yield nines_grid(nines)
