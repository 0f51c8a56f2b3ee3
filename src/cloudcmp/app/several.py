"""Compares the candidates of several studies, side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cloudcmp import analysis, compare
from cloudcmp.analysis.facts import launch_facts
from cloudcmp.analysis.levels import LaunchFacts
from cloudcmp.answer.words import in_words
from cloudcmp.app.import_ import import_files
from cloudcmp.app.other_prices import priced
from cloudcmp.app.study_view import Measured, cell_names, hosts_of, noted, pseudonyms
from cloudcmp.app.tool_files import ImportOptions, parse_file
from cloudcmp.errors import UserMistake
from cloudcmp.model.metric import Metric
from cloudcmp.model.pairs import Analysis
from cloudcmp.model.plan import Candidate, Launch, Plan, PlannedTrial, Quote
from cloudcmp.model.price import Purchase
from cloudcmp.model.steadiness import SteadinessView
from cloudcmp.model.study import Decide
from cloudcmp.model.trial import Attempt
from cloudcmp.model.view import View
from cloudcmp.report.anonymity import anonymous
from cloudcmp.report.redaction import Pseudonyms, hidden
from cloudcmp.store import StudyStore

_Spans = dict[tuple[str, int], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the studies: its label, what it measured, and the pseudonyms of its ids."""

    label: str
    measured: Measured
    pseudonyms: Pseudonyms


@contextmanager
def folders_of(sources: Sequence[str], options: ImportOptions) -> Iterator[list[Path]]:
    """Give the folder of each study; a file is imported into a temporary one.

    Raises UserMistake for a path that does not exist, and with every fault of a file.
    """
    with ExitStack() as stack:
        folders = []
        for text in sources:
            path = Path(text)
            if path.is_dir():
                folders.append(path)
                continue
            named = parse_file(text)
            if not named.path.exists():
                raise UserMistake.at(text, "no such study or file", "see 'cloudcmp list studies'")
            temporary = Path(stack.enter_context(TemporaryDirectory(prefix="cloudcmp-")))
            folders.append(import_files([text], temporary / named.path.stem, None, options).folder)
        yield folders


def side_by_side(
    folders: Sequence[Path], *, reprice: bool = False, purchase: Purchase | None = None, terms: Path | None = None,
    all_pairs: bool = False, allow_blocks: bool = False, steadiness: bool = False,
    anonymise: bool = False,
) -> View:  # fmt: skip
    """Compare the candidates of several studies in the cells that at least two of them measured.

    A candidate is named after its study. Candidates of one study are compared round by round, those of two by Welch's
    test, and not at all if the studies ran at different times, unless `allow_blocks`. The family of the verdicts is
    every pair of all studies in every cell that one of them decides. The other options are those of `view`. It does not
    tell what else changed between the studies.

    Raises UserMistake if a folder is named twice, no cell is common, or a metric has two meanings.
    """
    twice = [path for path, times in Counter(path.resolve() for path in folders).items() if times > 1]
    if twice:
        raise UserMistake.at(str(twice[0]), "the study is named twice", "name each study once")
    parts = []
    for folder, label in zip(folders, labels_of(folders), strict=True):
        with StudyStore.open(folder, write=False) as store:
            plan = _labelled(priced(noted(store), reprice=reprice, purchase=purchase, terms=terms), label)
            parts.append(_Part(label, Measured.of(store, plan, drawn=False), pseudonyms(store)))
    shown = _compared(parts, all_pairs=all_pairs, allow_blocks=allow_blocks)
    if steadiness:
        shown = replace(shown, steadiness=_steadiness(shown))
    for part in parts:
        shown = hidden(shown, part.pseudonyms)
    return anonymous(shown) if anonymise else shown


def _steadiness(shown: View) -> SteadinessView:
    """How steady the candidates are between launches; what is inside them is known of each study alone."""
    estimates = shown.analysis.estimates
    facts = LaunchFacts(shown.plan, launch_facts(shown.plan, shown.attempts))
    figures = analysis.steadiness(shown.plan, estimates, shown.metrics, None, facts)
    return SteadinessView(figures, compare.steady_pairs(shown.plan, estimates, shown.metrics))


def labels_of(folders: Sequence[Path]) -> list[str]:
    """The name of each folder; equal names get a number."""
    names = [folder.resolve().name for folder in folders]
    return [
        name if names.count(name) == 1 else f"{name}#{names[: at + 1].count(name)}" for at, name in enumerate(names)
    ]


def _labelled(plan: Plan, label: str) -> Plan:
    return replace(plan, candidates=tuple(replace(one, id=f"{label}/{one.id}") for one in plan.candidates))


def _compared(parts: Sequence[_Part], *, all_pairs: bool, allow_blocks: bool) -> View:
    measured = [part.measured for part in parts]
    common = _common_cells(measured)
    metrics = agreed_metrics("cloudcmp compare", [(part.label, part.measured.metrics) for part in parts])
    plan = _joined([one.plan for one in measured], common, measured)
    first = _first_candidates(measured)
    estimates = tuple(
        replace(one, candidate=one.candidate + start)
        for cell in common
        for part, start in zip(measured, first, strict=True)
        for one in part.estimates
        if one.cell == cell
    )
    facts = {at + start: some for part, start in zip(measured, first, strict=True) for at, some in part.facts.items()}
    studies = tuple(number for number, part in enumerate(measured) for _ in part.plan.candidates)
    found = compare.compare(
        plan, estimates, metrics, facts, studies=studies, marks=_marks(measured, first), spans=_spans(measured, first),
        replication_known=all(one.replication_known for one in measured), all_pairs=all_pairs,
        blocks_allowed=allow_blocks or all(one.blocks_allowed for one in measured),
    )  # fmt: skip
    some = Analysis(estimates, found.pairs, found.winners, found.money, found.money_winners)
    attempts = _attempts(measured)
    return View(
        plan=plan,
        metrics=metrics,
        analysis=replace(some, answer=in_words(plan, some, metrics, cell_names(estimates))),
        attempts=attempts,
        hosts=hosts_of(plan, attempts),
        warnings=(*_left_out(measured, common), *(line for part in parts for line in _warnings(part))),
    )


def _common_cells(measured: Sequence[Measured]) -> list[str]:
    """The cells in which at least two studies have a value, in the order of the first study that has them."""
    counts = Counter(cell for one in measured for cell in {each.cell for each in one.estimates if each.n})
    cells = dict.fromkeys(each.cell for one in measured for each in one.estimates)
    common = [cell for cell in cells if counts[cell] > 1]
    if not common:
        what = "the studies have no measurement in common: a cell is a metric with its parameters"
        raise UserMistake.at("cloudcmp compare", what, "compare each alone to see its cells, or measure one anew")
    return common


def _left_out(measured: Sequence[Measured], common: Sequence[str]) -> tuple[str, ...]:
    cells = {each.cell for one in measured for each in one.estimates if each.n} - set(common)
    return (f"{len(cells)} measurements of one study alone are not shown: compare it by itself",) if cells else ()


def _warnings(part: _Part) -> Iterator[str]:
    for line in part.measured.warnings:
        yield line if line.startswith(f"{part.label}/") else f"{part.label}: {line}"


def agreed_metrics(verb: str, of_studies: Sequence[tuple[str, Mapping[str, Metric]]]) -> dict[str, Metric]:
    """The metrics of several studies, each with its label; raises UserMistake if two define one differently."""
    found: dict[str, Metric] = {}
    for label, metrics in of_studies:
        for name, metric in metrics.items():
            known = found.setdefault(name, metric)
            if (known.unit, known.better, known.signed) != (metric.unit, metric.better, metric.signed):
                what = f"the metric {name!r} has another unit or direction in {label}"
                raise UserMistake.at(verb, what, "rename it in one of the studies")
    return found


def _first_candidates(measured: Sequence[Measured]) -> list[int]:
    """The index that the first candidate of each study has in the joined plan."""
    starts, start = [], 0
    for one in measured:
        starts.append(start)
        start += len(one.plan.candidates)
    return starts


def _joined(plans: Sequence[Plan], common: Sequence[str], measured: Sequence[Measured]) -> Plan:
    """One plan with the candidates, launches and trials of all; a look at any study counts as a look at all."""
    candidates: list[Candidate] = []
    launches: list[Launch] = []
    trials: list[PlannedTrial] = []
    for plan in plans:
        first, first_launch, first_trial = len(candidates), len(launches), len(trials)
        offset = plan.start_at - plans[0].start_at
        candidates += [replace(one, index=one.index + first) for one in plan.candidates]
        trials += [
            replace(one, index=one.index + first_trial, launch=one.launch + first_launch, start_s=one.start_s + offset)
            for one in plan.trials
        ]
        launches += [
            replace(one, index=one.index + first_launch, candidate=one.candidate + first, start_s=one.start_s + offset)
            for one in plan.launches
        ]
    return replace(
        plans[0],
        name=" and ".join(dict.fromkeys(plan.name for plan in plans)),
        question=f"How do {len(plans)} studies compare?",
        candidates=tuple(candidates),
        launches=tuple(launches),
        trials=tuple(trials),
        decide=_decided(measured, common),
        sessions=(),
        rounds=0,
        quote=Quote(sum(plan.quote.trials for plan in plans), 0.0, None, None, (), 0.0),
        budget=None,
        imported=all(plan.imported for plan in plans),
        short=any(plan.short for plan in plans),
        usage=(),
        commands=(),
        stop=next((plan.stop for plan in plans if plan.stop is not None), None),
        dropped=(),
        ended=None,
        checks=(),
        looks=(0,) * max(len(plan.looks) for plan in plans),  # what an earlier look saw is not counted as evidence
    )


def _decided(measured: Sequence[Measured], common: Sequence[str]) -> tuple[Decide, ...]:
    """The common cells that a study decides, with its margin, the smallest of several; empty if each decides all."""
    margins: dict[str, list[float | None]] = {}
    for one in measured:
        for cell, margin in compare.deciding(one.plan, [each.cell for each in one.estimates]).items():
            margins.setdefault(cell, []).append(margin)
    decided = []
    for cell in common:
        if cell in margins:
            known = [margin for margin in margins[cell] if margin is not None]
            decided.append(Decide("", cell, min(known) if known else None))
    return tuple(decided)


def _marks(measured: Sequence[Measured], first: Sequence[int]) -> dict[tuple[str, int], tuple[str, ...]]:
    return {
        (cell, at + start): some
        for one, start in zip(measured, first, strict=True)
        for (cell, at), some in one.marks.items()
    }


def _spans(measured: Sequence[Measured], first: Sequence[int]) -> _Spans:
    """The times of measurement: of each cell in an imported table, else those of the whole study."""
    spans: _Spans = {}
    for one, start in zip(measured, first, strict=True):
        if one.plan.imported:
            spans |= {(cell, at + start): span for (cell, at), span in one.spans.items()}
        elif one.attempts:
            whole = min(each.started_at for each in one.attempts), max(each.ended_at for each in one.attempts)
            spans |= {(each.cell, each.candidate + start): whole for each in one.estimates}
    return spans


def _attempts(measured: Sequence[Measured]) -> tuple[Attempt, ...]:
    found: list[Attempt] = []
    first = 0
    for one in measured:
        found += [replace(each, trial=each.trial + first) for each in one.attempts]
        first += len(one.plan.trials)
    return tuple(found)
