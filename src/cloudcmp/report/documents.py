"""The data of each verb's JSON document."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudcmp.model.check import LiveCheck, ProviderFinding
from cloudcmp.model.command import CommandUse
from cloudcmp.model.leftover import SweepResult
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import PriceListImport
from cloudcmp.model.safety import Safeguard
from cloudcmp.model.start import FetchedPrices, StarterStudy
from cloudcmp.model.view import View
from cloudcmp.report.first_study import next_commands

if TYPE_CHECKING:
    from cloudcmp.cost.billed import Reconciled
    from cloudcmp.provision.contract import Ruling

Data = dict[str, Any]


def started(found: StarterStudy, fetched: Sequence[FetchedPrices]) -> Data:
    """The document of `start`."""
    return {
        "study": found.path,
        "answers": found.answers,
        "providers": [{"provider": one.provider, "usable": one.usable, "text": one.text} for one in found.seen],
        "simulated": not found.clouds,
        "by_price_list": found.cheapest,
        "candidates": [one.offering for one in found.plan.candidates],
        "launches": found.form.launches,
        "runs": found.form.runs,
        "matters": found.form.matters,
        "quote": found.plan.quote,
        "next": next_commands(found),
        "fetched": fetched,
    }


def plan(found: Plan, uses: Iterable[CommandUse], safeguards: Mapping[str, Sequence[Safeguard]]) -> Data:
    """The document of `plan`: candidates, order, and the quote."""
    return {
        "study": found.name,
        "question": found.question,
        "candidates": found.candidates,
        "rounds": found.rounds,
        "runs": found.runs,
        "seed": found.seed,
        "decide": found.decide,
        "sessions": found.sessions,
        "aggregation": found.aggregation,
        "quote": found.quote,
        "terms": found.terms,
        "budget": found.budget,
        "commands": _commands(uses),
        "barriers": safeguards,
    }


def comparison(shown: View) -> Data:
    """The document of `compare`, and of a finished `run`: candidates, estimates, comparisons, winners, the answer."""
    from cloudcmp import answer

    found = shown.plan
    return {
        "study": found.name,
        "question": found.question,
        "simulated": any(candidate.simulated for candidate in found.candidates),
        "offered": None if found.imported else answer.offered(found, shown.attempts),
        "candidates": [_candidate(candidate) for candidate in found.candidates],
        "estimates": shown.analysis.estimates,
        "comparisons": shown.analysis.comparisons,
        "winners": shown.analysis.winners,
        "scaling": shown.scaling,
        "spend": shown.spend,
        "under": shown.under,
        "answer": shown.analysis.answer,
        "interruptions": shown.interruptions,
        "commands": _commands(shown.commands),
    }


def _candidate(candidate: Candidate) -> Data:
    return {
        "index": candidate.index,
        "id": candidate.id,
        "offering": candidate.offering,
        "runner": candidate.runner,
        "volume": str(candidate.volume) if candidate.volume else None,
        "count": candidate.count,
        "differs": candidate.differs,
        "service": candidate.service.kind.value if candidate.service else None,
        "unit_prices": candidate.unit_prices,
    }


def _commands(uses: Iterable[CommandUse]) -> list[Data]:
    """Commands and tools; `run` is the line of that kind, which `lines` has too."""
    return [
        {
            "name": use.name,
            "run": next((line.text for line in use.lines if line.kind == "run"), ""),
            "lines": use.lines,
            "files": use.files,
            "on": use.on,
            "free": use.free,
        }
        for use in uses
    ]


def run(folder: Path, left: Sequence[str], *, reason: str = "", report: Path | None = None) -> Data:
    """The document of `run` and `demo`; a finished one, which has a report, adds `comparison`."""
    return {"folder": folder, "finished": report is not None, "reason": reason, "report": report, "left": left}


def price_list(one: PriceListImport) -> Data:
    """A price list in the document of `fetch`."""
    return {
        "kind": one.kind,
        "source": one.source,
        "how": one.how,
        "dated": one.dated,
        "sha256": one.sha256,
        "bytes": one.bytes,
        "rows": one.rows,
        "types": one.types,
        "unknown": one.doubts,
        "again": one.again,
    }


def check(checked: Sequence[ProviderFinding], live: Data | None = None) -> Data:
    """The document of `check`."""
    findings = [
        {
            "provider": one.provider,
            "what": one.finding.what,
            "ok": one.finding.ok,
            "text": one.finding.text,
            "next": one.finding.next,
        }
        for one in checked
    ]
    return {"findings": findings, "live": live}


def live_check(
    check: LiveCheck, left: Sequence[str], rulings: Sequence["Ruling"] = (), differs: Sequence[str] = (), *,
    interrupted: bool,
) -> Data:  # fmt: skip
    """The live check in the document of `check`."""
    from cloudcmp.provision.contract import TESTED

    tested = TESTED.get(check.provider)
    return {
        "provider": check.provider,
        "offering": check.candidate.offering,
        "worst_cost": check.worst,
        "budget": check.budget,
        "clauses": rulings,
        "tested_against": tested.against if tested else None,
        "differs": differs,
        "interrupted": interrupted,
        "left": left,
    }


def sweep(swept: SweepResult, *, delete: bool) -> Data:
    """The document of `sweep`."""
    found = [
        {
            "provider": one.provider,
            "region": one.found.region,
            "kind": one.found.kind,
            "id": one.found.cloud_id,
            "study": one.study or None,
            "expires": one.expires or None,
            "state": one.found.state,
            "price": one.price,
            "fate": one.fate,
            "why": one.why,
        }
        for one in swept.leftovers
    ]
    return {"dry_run": not delete, "found": found, "elsewhere": swept.elsewhere,
            "unlisted": swept.unlisted, "skipped": swept.skipped}  # fmt: skip


def reconciliation(found: "Reconciled") -> Data:
    """The document of `reconcile`; times as ISO 8601 in UTC."""
    return {
        "lines": found.sides,
        "totals": [
            {
                "currency": one.currency,
                "used": one.used,
                "estimated": one.estimated,
                "difference": one.difference,
                "ratio": one.ratio,
                "apart": [{"kind": kind, "amount": amount} for kind, amount in one.apart],
            }
            for one in found.totals
        ],
        "foreign": found.foreign,
        "alarms": found.alarms,
        "reach": _iso(found.reach),
        "preliminary_until": _iso(found.preliminary_until),
    }


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
