"""The sheets of isolation: what each load of a neighbour takes from each victim, for the report and the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cloudcmp.model.cast import BESIDE
from cloudcmp.model.isolation import Effect
from cloudcmp.model.result import Bounds, Verdict
from cloudcmp.report.numbers import UNKNOWN, known, plain, probability, signed
from cloudcmp.report.report_model import MARKS, StudyView
from cloudcmp.report.sheets.sheet import KINDS, Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import direction, parse_cell

TITLE = "What neighbours take"
NOTE = (
    "Each victim beside a load against the same victim alone, paired inside launches: mean change and its 95 % "
    "interval. ▼ slower, ▲ faster, = the same within 3 %, ? undecided; corrected for all of them (Holm)."
)
_SPREAD_NOTE = (
    "Ratio: standard deviation of runs inside launches beside the load, divided by that alone; p: Brown and Forsythe's "
    "test that they are equal, not corrected."
)


def shown_effects(study: StudyView) -> tuple[Effect, ...]:
    """The effects on deciding measurements; all of them if none decides."""
    found = study.view.effects
    return tuple(one for one in found if one.decides) or found


def sentence(study: StudyView) -> str:
    """The answer in a sentence: how many loads slow their victims, and by how much the worst; empty without any."""
    some = shown_effects(study)
    if not some:
        return ""
    slowed = [one for one in some if one.verdict is Verdict.WORSE]
    counts = [(sum(one.verdict is verdict for one in some), words) for verdict, words in _COUNTED.items()]
    rest = ", ".join(f"{count} {words}" for count, words in counts if count)
    pairs = f"of {len(some)} pairs of a victim and a load"
    if not slowed:
        return f"{pairs}, none slows the victim: {rest}."
    worst = max(slowed, key=lambda one: one.lost or 0.0)
    most = f"most {victim_words(study, worst)} beside {load_words(worst)}: {loss_words(study, worst)}"
    counted = f"{pairs}, {len(slowed)} slow{'s' * (len(slowed) == 1)} the victim, {most}."
    return f"{counted} {rest[0].upper()}{rest[1:]}." if rest else counted


_COUNTED = {
    Verdict.BETTER: "faster", Verdict.SAME: "practically the same", Verdict.CANNOT_TELL: "cannot tell yet",
}  # fmt: skip


def victim_words(study: StudyView, one: Effect) -> str:
    """The name of a victim's measurement."""
    return study.names.short(one.alone, frozenset(BESIDE))


def load_words(one: Effect) -> str:
    """The name of a load, with its threads if they are several."""
    return one.load.replace("_", " ") + (f" ×{one.threads}" if one.threads > 1 else "")


def loss_words(study: StudyView, one: Effect) -> str:
    """The change with its interval: `23 % slower (21 to 25)`."""
    unit = study.view.metrics[parse_cell(one.victim).metric].unit
    if one.by_difference:
        return _interval(signed(one.change, unit), one.bounds, lambda end: signed(end, unit))
    if not known(one.lost):
        return UNKNOWN
    slower = one.lost >= 0.0
    ends = [one.lost, *((one.lost_bounds.low, one.lost_bounds.high) if one.lost_bounds else ())]
    digits = 0 if max(map(abs, ends)) >= 0.1 else 1
    texts = [f"{(end if slower else -end) * 100:.{digits}f}" for end in ends]
    interval = f" ({texts[1]} to {texts[2]})" if slower else f" ({texts[2]} to {texts[1]})"
    return f"{texts[0]} % {'slower' if slower else 'faster'}{interval if one.lost_bounds else ''}"


def _interval(text: str, bounds: Bounds | None, shown: Callable[[float], str]) -> str:
    return f"{text} ({shown(bounds.low)} to {shown(bounds.high)})" if bounds else text


@dataclass(frozen=True, slots=True)
class Victim:
    """A victim's measurement on a screen: its name with its value alone, and a line for each load."""

    name: str
    lines: tuple[tuple[Verdict, str, str, str], ...]
    """The verdict, the load, the change with its interval, and the ratio of the standard deviations."""


def brief(study: StudyView) -> tuple[Victim, ...]:
    """The effects for a terminal, by victim; empty without any."""
    found: dict[tuple[int, str], list[Effect]] = {}
    for one in shown_effects(study):
        found.setdefault((one.candidate, one.victim), []).append(one)
    victims = []
    for (candidate, _), some in found.items():
        view = study.by_cell.get(some[0].alone)
        alone = view.estimates.get(candidate) if view else None
        value = f": {view.scale.quantity(alone.median)} alone" if view and alone and known(alone.median) else ""
        whose = f"{study.short[candidate]}, " if len(study.candidates) > 1 else ""
        lines = tuple(
            (
                one.verdict,
                load_words(one),
                loss_words(study, one),
                f"sd ×{plain(one.sd_ratio)}" if known(one.sd_ratio) else "",
            )
            for one in some
        )
        victims.append(Victim(f"{whose}{victim_words(study, some[0])}{value}", lines))
    return tuple(victims)


def matrices(study: StudyView) -> tuple[Sheet, ...]:
    """The matrix of victims and loads of each candidate; empty without any."""
    return tuple(filter(None, (_matrix(study, one.index) for one in study.candidates)))


def sheets(study: StudyView) -> tuple[Sheet, ...]:
    """All effects with their spreads; empty without any."""
    found = study.view.effects
    return (_all(study, found),) if found else ()


def loads_of(some: Sequence[Effect]) -> list[str]:
    """The loads of some effects, each once, in their order in the study."""
    return list(dict.fromkeys(load_words(one) for one in sorted(some, key=lambda one: one.place)))


def _matrix(study: StudyView, candidate: int) -> Sheet | None:
    some = [one for one in shown_effects(study) if one.candidate == candidate]
    if not some:
        return None
    loads = loads_of(some)
    by_victim: dict[str, dict[str, Effect]] = {}
    for one in some:
        by_victim.setdefault(one.victim, {})[load_words(one)] = one
    rows = []
    for own in by_victim.values():
        first = next(iter(own.values()))
        view = study.by_cell.get(first.alone)
        alone = view.estimates.get(candidate) if view else None
        value = view.scale.quantity(alone.median) if view and alone and known(alone.median) else "no value"
        fields = [_field(study, own[load]) if load in own else Field(UNKNOWN) for load in loads]
        rows.append(row(Field(victim_words(study, first)), Field(value), *fields))
    caption = captioned(study.origin, f"{study.candidates[candidate].id}: change of each victim beside each load")
    columns = (Column("victim"), Column("alone", True), *(Column(load, True) for load in loads))
    return Sheet(caption, columns, tuple(rows), NOTE)


def _field(study: StudyView, one: Effect) -> Field:
    text, _, interval = loss_words(study, one).partition(" (")
    return Field(f"{MARKS[one.verdict]} {text}", f"{interval.rstrip(')')}; n {one.n}", KINDS[one.verdict])


def _all(study: StudyView, found: Sequence[Effect]) -> Sheet:
    columns = (
        Column("victim"), Column("beside"), Column("alone", True), Column("beside it", True), Column("change", True),
        Column("ratio of the standard deviations", True), Column("p of equal ones", True), Column("n", True),
        Column("verdict"),
    )  # fmt: skip
    rows: list[Row] = []
    for candidate in dict.fromkeys(one.candidate for one in found):
        rows.append(heading(study.candidates[candidate].id))
        for one in (one for one in found if one.candidate == candidate):
            alone, beside = (_value(study, one, cell) for cell in (one.alone, one.beside))
            bounds = one.sd_bounds
            spread = Field(plain(one.sd_ratio), f"{plain(bounds.low)} to {plain(bounds.high)}" if bounds else "")
            text, _, interval = loss_words(study, one).partition(" (")
            verdict = Field(f"{MARKS[one.verdict]} {_VERDICTS[one.verdict]}", one.reason, KINDS[one.verdict])
            rows.append(
                row(f"{victim_words(study, one)}, {direction(study.view.metrics[parse_cell(one.victim).metric])}",
                    load_words(one), alone, beside, Field(text, interval.rstrip(")")), spread, probability(one.sd_p),
                    str(one.n), verdict)
            )  # fmt: skip
    return Sheet(captioned(study.origin, "Each victim beside each load"), columns, tuple(rows), _SPREAD_NOTE)


_VERDICTS = {
    Verdict.WORSE: "slower", Verdict.BETTER: "faster", Verdict.SAME: "practically the same",
    Verdict.CANNOT_TELL: "cannot tell yet",
}  # fmt: skip


def _value(study: StudyView, one: Effect, cell: str) -> Field:
    view = study.by_cell.get(cell)
    estimate = view.estimates.get(one.candidate) if view else None
    if view is None or estimate is None or not known(estimate.median):
        return Field("no value", kind="unsure")
    return Field(view.scale.quantity(estimate.median), f"{estimate.n_ok}/{estimate.n_started} ok")
