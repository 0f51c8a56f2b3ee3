"""Prints what the sessions of a published document can show."""

from rich.console import Console

from cloudcmp.analysis.published import SessionEvidence
from cloudcmp.analysis.published.claims import SIGNIFICANT_BELOW
from cloudcmp.report.table import Head, say, table


def print_sessions(console: Console, evidence: SessionEvidence, *, every: bool = False) -> None:
    """Print how many pairs differ before and after Holm, the sessions by table, and the conclusions that stand or not.

    `every` also prints all pairs.
    """
    tables = dict.fromkeys(one.table for one in evidence.values)
    counts = sorted({len(one.values) for one in evidence.values})
    say(console, evidence.document, "bold underline")
    say(console, f"{len(tables)} tables of {' or '.join(map(str, counts))} sessions, {len(evidence.pairs)} pairs")
    if evidence.copies:
        say(console, f"left out, as it repeats another: table {', '.join(evidence.copies)}")
    say(console, _shown("means", [(one.p, one.p_adjusted) for one in evidence.pairs], "Welch"))
    say(console, _shown("spreads", [(one.p_spread, one.p_spread_adjusted) for one in evidence.pairs], "Brown-Forsythe"))
    standing = sum(one.stands for one in evidence.conclusions)
    say(console, f"of {len(evidence.conclusions)} conclusions, {standing} stand", "bold")
    console.print()
    _values(console, evidence)
    if every:
        console.print()
        _pairs(console, evidence)
    console.print()
    _conclusions(console, evidence)


def _shown(what: str, p: list[tuple[float, float]], test: str) -> str:
    raw, adjusted = (sum(one[at] < SIGNIFICANT_BELOW for one in p) for at in (0, 1))
    return f"{what} that differ ({test}, p < {SIGNIFICANT_BELOW:g}): {raw}, after Holm {adjusted}"


def _values(console: Console, evidence: SessionEvidence) -> None:
    rows = [
        (
            one.table, one.platform, f"{one.mean:.4g}", f"{one.low:.4g} to {one.high:.4g}", f"{100 * one.cov:.2g} %",
            str(one.needed),
        )
        for one in evidence.values
    ]  # fmt: skip
    heads = ("table", "platform", Head("mean"), Head("95 %"), Head("CoV"), Head("sessions for 5 %"))
    note = (
        "95 %: Student's interval of the mean. Sessions for 5 %: about as many give the median an interval of +-5 % "
        "(CONFIRM's rule of thumb, with this CoV for the true one)."
    )
    table(console, heads, rows, note=note)


def _pairs(console: Console, evidence: SessionEvidence) -> None:
    rows = [
        (
            one.table, f"{one.a}/{one.b}", f"{one.ratio:.3g}", f"{one.p:.2g}", f"{one.p_adjusted:.2g}",
            f"{one.spread_ratio:.2g}", f"{one.p_spread_adjusted:.2g}",
        )
        for one in evidence.pairs
    ]  # fmt: skip
    heads = ("table", "pair", Head("ratio"), Head("p"), Head("Holm"), Head("CoV ratio"), Head("Holm"))
    table(console, heads, rows)


def _conclusions(console: Console, evidence: SessionEvidence) -> None:
    for stands, title in ((True, "Conclusions that stand"), (False, "Conclusions that do not stand")):
        found = [one for one in evidence.conclusions if one.stands is stands]
        if found:
            say(console, title, "bold")
        for one in found:
            say(console, f'page {one.page}, section {one.section}: "{one.quote}"')
            rest = f" and {len(one.against) - 1} more" if len(one.against) > 1 else ""
            why = f"{one.against[0]}{rest}" if one.against else f"all {one.pairs} pairs"
            say(console, why, indent=2)
