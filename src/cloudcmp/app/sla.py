"""Answers what samples prove of a service level, what downtime pays back, and which level or copies are worth it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cloudcmp.answer.sla.claims import bound_claim, is_of_watch, of_watch, parse_claim
from cloudcmp.answer.sla.downtime import downtime_of
from cloudcmp.answer.sla.levels import best_level
from cloudcmp.answer.sla.nines import correlation_of, money_against_nines
from cloudcmp.answer.sla.prove import prove, prove_watch
from cloudcmp.answer.sla.requirements import requirement_of
from cloudcmp.answer.sla.sentences import with_sentences
from cloudcmp.answer.sla.timeline import Timeline, timeline
from cloudcmp.answer.sla.utility import most_useful
from cloudcmp.app.evidence import evidence_for_claims, is_evidence
from cloudcmp.app.option_values import parsed
from cloudcmp.app.recommend import sold
from cloudcmp.cost.credits.engine import credit_of
from cloudcmp.cost.credits.tables import credit_table
from cloudcmp.errors import OutsideFault, UserMistake
from cloudcmp.model.market import OfferKey
from cloudcmp.model.nines import Arrangement, NinesFinding
from cloudcmp.model.service_level import Claim, ClaimFinding, Clusters, Quantity
from cloudcmp.model.sla import EvidenceUse, PlannedClaim, SlaAnswer
from cloudcmp.model.utility import UtilityQuestion
from cloudcmp.store.watch_table import is_watch_table, read_watch
from cloudcmp.study.utility_file import read_utility
from cloudcmp.units import Money, parse_money, parse_ratio, parse_seconds

_MOST_BYTES = 2**20
_WATCHED = "samples of a watch: a folder of `cloudcmp watch`, or a table of time,ok,seconds"


@dataclass(frozen=True, slots=True)
class SlaQuestion:
    """What is asked of some sources, as text.

    `claims` are service levels; `every` is the interval of samples of a table. `credits` are names of credit tables,
    `bill` one month's. `utility` is a file. `loss` is that of an hour of downtime, with the cost a month of `one_zone`,
    `two_zones` and `two_regions`; `availability` of one zone is stated in place of samples. `unsigned` also counts
    samples of evidence that nobody signed. `anonymise` replaces the names of services, offerings and agreements.
    """

    claims: tuple[str, ...] = ()
    every: str | None = None
    credits: tuple[str, ...] = ()
    bill: str | None = None
    utility: Path | None = None
    loss: str | None = None
    availability: str | None = None
    one_zone: str | None = None
    two_zones: str | None = None
    two_regions: str | None = None
    confidence: float = 0.95
    seed: int = 1
    unsigned: bool = False
    anonymise: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question whose texts are read."""

    claims: tuple[Claim, ...]
    every_s: float | None
    bill: Money | None
    utility: UtilityQuestion | None
    loss: Money | None
    availability: float | None
    costs: dict[Arrangement, Money] = field(default_factory=dict)


def sla(
    sources: Sequence[str], question: SlaQuestion, *, progress: Callable[[str], None] = lambda _: None
) -> SlaAnswer:  # fmt: skip
    """Answer what is asked about service levels.

    Claims are held against watched samples, studies and tidy tables; without a source they are planned. Beside a watch,
    a study is asked only for claims about its measurements. Credits and
    nines need watched samples, or a stated availability. A utility chooses among the offerings of all sources, which
    are those of `recommend`.

    Raises UserMistake if nothing is asked, for a text that cannot be read, and for a source that does not fit.
    """
    asked = _read(question)
    tables = [credit_table(name) for name in question.credits]
    watches = [_watch(source, asked.every_s, question.unsigned, progress) for source in sources if _is_watch(source)]
    lines = [line for line, _ in watches]
    _check(question, asked, sources, lines)
    studies = [source for source in sources if not _is_watch(source)]
    measured = [one for one in asked.claims if not is_of_watch(one)]
    watchable = [of_watch(one) for one in asked.claims if is_of_watch(one)] if lines else []
    claims = [prove_watch(one, line, question.confidence) for line in lines for one in watchable]
    keys: list[OfferKey] = []
    of_studies = measured if lines else list(asked.claims)
    for source in studies if of_studies else ():
        progress(f"reading {source}")
        for key, claim in _of_study(source, of_studies, question.confidence):
            keys.append(key)
            claims.append(claim)
    planned = () if sources else tuple(
        PlannedClaim(one, requirement_of(one, question.confidence)) for one in asked.claims
    )  # fmt: skip
    downtimes = [downtime_of(line) for line in lines] if tables else []
    useful = asked.utility
    chosen = None
    if useful is not None and useful.terms:
        market = sold(studies, progress=progress)
        keys += market.keys
        chosen = most_useful(useful, market)
    levels = None
    if useful is not None and useful.levels is not None:
        levels = best_level(useful.levels, f"{question.utility}: menasce_ngo")
    found = SlaAnswer(
        question.confidence, tuple(claims), planned,
        tuple(credit_of(table, down, asked.bill, question.seed) for down in downtimes for table in tables),
        chosen, levels, tuple(_nines(asked, lines, question.confidence)),
        evidence=tuple(use for _, use in watches if use is not None),
        simulated=any(one.simulated for one in claims) or (chosen is not None and chosen.simulated),
        notes=() if chosen is None else chosen.notes,
    )  # fmt: skip
    if question.anonymise:
        from cloudcmp.report.anonymous_answers import anonymous_sla

        found = anonymous_sla(found, keys, [line.target for line in lines], sources)
    return with_sentences(found)


def _is_watch(source: str) -> bool:
    path = Path(source)
    return is_evidence(path) if path.is_dir() else is_watch_table(path)


def _watch(
    source: str, every_s: float | None, unsigned: bool, progress: Callable[[str], None]
) -> tuple[Timeline, EvidenceUse | None]:  # fmt: skip
    """The samples of a source that is a watch, and how those of evidence are used."""
    progress(f"reading {source}")
    path = Path(source)
    if not path.is_dir():
        return timeline(read_watch(path, every_s)), None
    found = evidence_for_claims(path)
    every = len(found.watched.samples)
    if every and not found.signed.samples and not unsigned:
        what = f"none of its {every} samples was signed by the watcher that wrote it"
        raise UserMistake.at(source, what, "count them all the same with --unsigned, or let the watch go on")
    failed = sum(not one.ok for one in found.watched.samples)
    use = EvidenceUse(source, every, failed, found.unsigned_samples, found.unsigned_failed, unsigned)
    return timeline(found.watched if unsigned else found.signed), use


def _of_study(source: str, claims: Sequence[Claim], confidence: float) -> Iterator[tuple[OfferKey, ClaimFinding]]:
    """What a study's samples prove of claims about each candidate."""
    # What reads studies takes a second to load, and watched samples need none of it.
    from cloudcmp.analysis.request_samples import cell_named, metric_of, samples_by_launch, trials_by_launch
    from cloudcmp.answer.choice.from_study import key_of
    from cloudcmp.app.several import folders_of
    from cloudcmp.app.study_view import metrics_of
    from cloudcmp.app.tool_files import ImportOptions
    from cloudcmp.model.values import SeriesLimits
    from cloudcmp.store import NO_TIMES, StudyStore

    with folders_of([source], ImportOptions()) as (folder,), StudyStore.open(folder, write=False) as store:
        plan, metrics, attempts = store.plan, metrics_of(store), store.attempts()
        cells = list(dict.fromkeys(cell for trial in plan.trials for cell in trial.cells))
        cells = cells or list(store.measured(frozenset()).values.cells)  # an imported table has no trials
        named = {
            one.name: cell_named(one.name, cells, "--claim") for one in claims if one.quantity is Quantity.MEASURED
        }
        wanted = tuple(dict.fromkeys(cell.partition(" ")[0] for cell in named.values()))
        measured = store.measured(frozenset(), SeriesLimits(most=0, whole=wanted))
        span = max((one.ended_at for one in attempts), default=0.0) - min(
            (one.started_at for one in attempts), default=0.0
        )
        span = 0.0 if store.meta(NO_TIMES) is not None else span
    for claim in claims:
        if claim.quantity is Quantity.RESPONSE:
            what = "a study has many measurements, and none is called the response time"
            raise UserMistake.at("--claim", what, f"name one, such as 'p99 {cells[0].partition(' ')[0]} <= VALUE'")
        if claim.quantity is Quantity.AVAILABILITY:
            bound, unit, groups = claim, "s", trials_by_launch(plan, attempts, measured)
        else:
            cell = named[claim.name]
            metric = metric_of(cell, metrics)
            bound, unit, groups = bound_claim(claim, cell, metric), metric.unit, samples_by_launch(plan, cell, measured)
        for one in plan.candidates:
            key = key_of(one)
            yield key, prove(bound, str(key), groups.get(one.index, []), Clusters.LAUNCH, unit, span_s=span,
                             confidence=confidence, simulated=one.simulated)  # fmt: skip


def _nines(asked: _Asked, lines: Sequence[Timeline], confidence: float) -> Iterator[NinesFinding]:
    """Money against nines, from the first watch or the stated availability; of two watches also their correlation."""
    if asked.loss is None:
        return
    if asked.availability is not None:
        yield money_against_nines("a zone as stated", asked.availability, None, 0, asked.loss, asked.costs)
        return
    claim = parse_claim("availability >= 99 %")
    together = correlation_of(lines[0], lines[1]) if len(lines) == 2 else None
    for line in lines[:1] if together is not None else lines:
        found = prove_watch(claim, line, confidence)
        assert found.value is not None  # a watch has a sample
        yield money_against_nines(line.target, found.value, found.bounds, found.n, asked.loss, asked.costs, together)


def _read(question: SlaQuestion) -> _Asked:
    if not 0.5 <= question.confidence < 1:
        raise UserMistake.at("--confidence", f"{question.confidence} is not between 0.5 and 1", "write e.g. 0.95")
    every = None
    if question.every is not None:
        every = parsed("--every", question.every, parse_seconds)
        if every <= 0:
            raise UserMistake.at("--every", f"{question.every!r} is not above zero", "write e.g. '60 s'")
    availability = None
    if question.availability is not None:
        availability = parsed("--availability", question.availability, parse_ratio)
        if not 0 < availability <= 1:
            raise UserMistake.at("--availability", f"{question.availability!r} is not above 0 and at most 100 %",
                                 "write e.g. '99.5 %'")  # fmt: skip
    names = {Arrangement.ONE_ZONE: ("--one-zone", question.one_zone),
             Arrangement.TWO_ZONES: ("--two-zones", question.two_zones),
             Arrangement.TWO_REGIONS: ("--two-regions", question.two_regions)}  # fmt: skip
    return _Asked(
        claims=tuple(parse_claim(text) for text in question.claims),
        every_s=every,
        bill=None if question.bill is None else _money("--bill", question.bill),
        utility=None if question.utility is None else _utility(question.utility),
        loss=None if question.loss is None else _per("--loss", question.loss, ("h", "hour")),
        availability=availability,
        costs={kind: _per(option, text, ("month",)) for kind, (option, text) in names.items() if text is not None},
    )


def _check(question: SlaQuestion, asked: _Asked, sources: Sequence[str], lines: Sequence[Timeline]) -> None:
    """Refuse what is asked without what it is asked of."""
    if not (asked.claims or question.credits or asked.utility or asked.loss):
        raise UserMistake.at("cloudcmp sla", "nothing is asked", "give --claim, --credits, --utility or --loss")
    unknown = [one for one in asked.claims if not is_of_watch(one)]
    if unknown and sources and len(lines) == len(sources):
        what = f"a watch has no {unknown[0].name!r}: it knows availability, response times and throughput"
        raise UserMistake.at("--claim", what, "name a study that measured it")
    if question.credits and not lines:
        raise UserMistake.at("--credits", "no source has downtime", f"name {_WATCHED}")
    if question.bill is not None and not question.credits:
        raise UserMistake.at("--bill", "is about --credits, which are not given", "see: cloudcmp list credits")
    if asked.costs and asked.loss is None:
        raise UserMistake.at("--loss", "costs of copies are given, and no loss", "write e.g. --loss '500 USD/h'")
    if asked.loss is not None and not {Arrangement.ONE_ZONE, Arrangement.TWO_ZONES} <= set(asked.costs) and not {
        Arrangement.ONE_ZONE, Arrangement.TWO_REGIONS,
    } <= set(asked.costs):  # fmt: skip
        advice = "give --one-zone and --two-zones or --two-regions, such as '300 USD/month'"
        raise UserMistake.at("--loss", "the costs of one copy and of two are unknown", advice)
    if asked.loss is not None and asked.availability is None and not lines:
        raise UserMistake.at("--loss", "the availability of one zone is unknown", f"give --availability, or {_WATCHED}")
    if asked.utility is not None and asked.utility.terms and not sources:
        raise UserMistake.at("--utility", "no source is named", "name a study, a table, or prices")


def _utility(path: Path) -> UtilityQuestion:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, IsADirectoryError):
        raise UserMistake.at(str(path), "there is no such file", "see docs/how-to/sla.md for one") from None
    except OSError as error:
        raise OutsideFault.at(str(path), error.strerror or str(error), "make the file readable") from error
    return read_utility(content, path)


def _money(option: str, text: str) -> Money:
    try:
        return parse_money(text)
    except ValueError as error:
        what, _, advice = str(error).partition("; ")
        unknown = what.endswith("not more than zero")
        raise UserMistake.at(
            option, what, "an amount of zero is unknown: leave it out" if unknown else advice
        ) from None


def _per(option: str, text: str, periods: Sequence[str]) -> Money:
    money, slash, period = text.rpartition("/")
    if not slash or period.strip() not in periods:
        raise UserMistake.at(option, f"{text!r} needs its period", f"write e.g. '300 USD/{periods[0]}'")
    return _money(option, money)
