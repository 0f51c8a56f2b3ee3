"""The data of each verb's JSON document."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloudcmp.answer.gaps import Gaps
from cloudcmp.model.check import LiveCheck, ProviderFinding
from cloudcmp.model.command import CommandUse
from cloudcmp.model.history import History, Track
from cloudcmp.model.leftover import SweepResult
from cloudcmp.model.plan import Candidate, Plan
from cloudcmp.model.price import PriceListImport
from cloudcmp.model.recommendation import Recommendation
from cloudcmp.model.safety import Safeguard
from cloudcmp.model.start import FetchedPrices, StarterStudy
from cloudcmp.model.view import View
from cloudcmp.report.first_study import next_commands

if TYPE_CHECKING:
    from cloudcmp.answer.choice.hedonic import PriceModel
    from cloudcmp.cost.billed import BillComparison
    from cloudcmp.provision.contract import Ruling

Data = dict[str, Any]


def _picked(of: object, *names: str) -> Data:
    """Return fields that a document has under their own names."""
    return {name: getattr(of, name) for name in names}


def started(found: StarterStudy, fetched: Sequence[FetchedPrices]) -> Data:
    """The document of `start`."""
    return {
        "study": found.path,
        "editor_schema": found.schema,
        "answers": found.answers,
        "providers": [_picked(one, "provider", "usable", "text") for one in found.seen],
        "simulated": not found.clouds,
        "by_price_list": found.cheapest,
        "candidates": [one.offering for one in found.plan.candidates],
        **_picked(found.form, "launches", "runs", "matters"),
        "quote": found.plan.quote,
        "next": next_commands(found),
        "fetched": fetched,
    }


def plan(found: Plan, uses: Iterable[CommandUse], safeguards: Mapping[str, Sequence[Safeguard]]) -> Data:
    """The document of `plan`: candidates, order, and the quote."""
    return {
        "study": found.name,
        **_picked(found, "question", "candidates", "rounds", "runs", "seed", "decide", "sessions", "aggregation"),
        **_picked(found, "quote", "terms", "budget", "stop"),
        "commands": _commands(uses),
        "barriers": safeguards,
    }


def comparison(shown: View) -> Data:
    """The document of `compare`, and of a finished `run`: candidates, estimates, comparisons, winners, the answer."""
    from cloudcmp.answer.offers import offered

    found = shown.plan
    return {
        "study": found.name,
        "question": found.question,
        "simulated": any(candidate.simulated for candidate in found.candidates),
        "offered": None if found.imported else offered(found, shown.attempts),
        "candidates": [_candidate(candidate) for candidate in found.candidates],
        **_picked(shown.analysis, "estimates", "comparisons", "winners", "money", "money_winners", "outlooks"),
        **_picked(shown, "scaling", "effects", "delivered", "co_location", "spend", "under", "steadiness"),
        "services": _services(shown),
        "answer": shown.analysis.answer,
        **_picked(found, "stop", "dropped", "ended"),
        "interruptions": shown.interruptions,
        "commands": _commands(shown.commands),
    }


def recommendation(found: Recommendation) -> Data:
    """The document of `recommend`: the choice with its chances, the others, and what would change it."""
    return {"choice": found.choice, **{one.name: getattr(found, one.name) for one in fields(found)}}


def gaps(found: Gaps, shown: View) -> Data:
    """The document of `gaps`: the gaps, with the ids of their candidates."""
    ids = [one.id for one in shown.plan.candidates]
    listed = [{**{each.name: getattr(one, each.name) for each in fields(one)}, "own": ids[one.own],
               "best": ids[one.best]} for one in found.gaps]  # fmt: skip
    return {**{one.name: getattr(found, one.name) for one in fields(found)}, "gaps": listed}


def price_model(found: "PriceModel") -> Data:
    """The document of `prices`: the fit, and every offering with its expected price."""
    offers = [{**{each.name: getattr(one, each.name) for each in fields(one)}, "dear": one.is_dear,
               "cheap": one.is_cheap} for one in found.offers]  # fmt: skip
    return {**{one.name: getattr(found, one.name) for one in fields(found)}, "offers": offers}


def _services(shown: View) -> Data | None:
    """What a study found of storage services beyond the estimates of their cells; None without such a candidate."""
    from cloudcmp.cost import operation_figures

    if not any(one.service for one in shown.plan.candidates):
        return None
    found = shown.services
    return {
        "delays": [_picked(one, "candidate", "cell", "n", "unseen", "wait_s", "way_s") for one in found.delays],
        **_picked(found, "counts", "limits", "clients"),
        "operation_costs": [
            {**_picked(one, "candidate", "op", "size_bytes", "read", "break_even_per_hour"), "cost": one.cost.money}
            for one in operation_figures(shown.plan)
        ],
    }


def _candidate(candidate: Candidate) -> Data:
    return {
        **_picked(candidate, "index", "id", "offering", "runner"),
        "volume": str(candidate.volume) if candidate.volume else None,
        **_picked(candidate, "count", "differs"),
        "planted": [{"cell": cell, "mean": truth.mean} for cell, truth in candidate.truth.cells]
        if candidate.truth
        else None,
        "service": candidate.service.kind.value if candidate.service else None,
        "api": candidate.service.api or None if candidate.service else None,
        "unit_prices": candidate.unit_prices,
    }


def _commands(uses: Iterable[CommandUse]) -> list[Data]:
    """Commands and tools; `run` is the line of that kind, which `lines` has too."""
    return [
        {
            "name": use.name,
            "run": next((line.text for line in use.lines if line.kind == "run"), ""),
            **_picked(use, "lines", "files", "on", "free"),
        }
        for use in uses
    ]


def history(found: History) -> Data:
    """The document of `history`; times as ISO 8601 in UTC."""
    places = [_picked(track, "candidate", "cell") for track in found.tracks]
    return {
        "by": found.by,
        "as_of": _iso(found.as_of),
        "sources": [
            {**_picked(one, "name", "cost", "simulated", "imported"), "first": _iso(one.first), "last": _iso(one.last)}
            for one in found.sources
        ],
        "series": [_series(found, track) for track in found.tracks],
        "outdated": [
            {
                "source": found.sources[one.source].name,
                "last": _iso(one.last),
                "age_s": one.age_s,
                "cost": found.sources[one.source].cost,
                "changes": [
                    {**places[later.track], "at": _iso(later.change.at), "change": later.change.change}
                    for later in one.later
                ],
            }
            for one in found.outdated
        ],
    }


def _series(found: History, track: Track) -> Data:
    metric = found.metrics[track.cell.partition(" ")[0]]
    names = ("before", "after", "change", "bounds", "by_difference", "better", "n_before", "n_after", "p", "facts")
    level = _picked(track.level, "value", "bounds", "points", "launches", "age_s")
    points = zip(track.times, track.values, track.counts, track.sources, strict=True)
    return {
        **_picked(track, "candidate", "provider", "cell", "correlation", "sessions"),
        **_picked(metric, "unit", "better"),
        "changes": [{"at": _iso(one.at), "since": _iso(one.since), **_picked(one, *names)} for one in track.changes],
        "level": {**level, "first": _iso(track.level.first), "last": _iso(track.level.last)},
        "points": [
            {"time": _iso(at), "value": value, "launches": count, "source": found.sources[source].name}
            for at, value, count, source in points
        ],
    }


def run(folder: Path, left: Sequence[str], *, reason: str = "", report: Path | None = None) -> Data:
    """The document of `run` and `demo`; a finished one, which has a report, adds `comparison`."""
    return {"folder": folder, "finished": report is not None, "reason": reason, "report": report, "left": left}


def price_list(one: PriceListImport) -> Data:
    """A price list in the document of `fetch`."""
    return {
        **_picked(one, "kind", "source", "how", "dated", "sha256", "bytes", "rows", "types"),
        "unknown": one.doubts,
        "again": one.again,
    }


def check(checked: Sequence[ProviderFinding], live: Data | None = None) -> Data:
    """The document of `check`."""
    findings = [{"provider": one.provider, **_picked(one.finding, "what", "ok", "text", "next")} for one in checked]
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
            **_picked(one.found, "region", "kind"),
            "id": one.found.cloud_id,
            "study": one.study or None,
            "expires": one.expires or None,
            "state": one.found.state,
            **_picked(one, "price", "fate", "why"),
        }
        for one in swept.leftovers
    ]
    return {"dry_run": not delete, "found": found, **_picked(swept, "elsewhere", "unlisted", "skipped")}


def reconciliation(found: "BillComparison") -> Data:
    """The document of `reconcile`; times as ISO 8601 in UTC."""
    return {
        "lines": found.sides,
        "totals": [
            {
                **_picked(one, "currency", "used", "estimated", "difference", "ratio"),
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
