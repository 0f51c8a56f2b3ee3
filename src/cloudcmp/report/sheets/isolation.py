"""The sheets of isolation: what each load of a neighbour takes from each victim, for the report and the terminal."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from cloudcmp.compare import OWN_HOSTS
from cloudcmp.model.cast import BESIDE, NETWORK_LOADS
from cloudcmp.model.co_location import Sign
from cloudcmp.model.isolation import Effect
from cloudcmp.model.plan import Candidate
from cloudcmp.model.result import Bounds, Verdict
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.plan import ALONE
from cloudcmp.published import load as load_document
from cloudcmp.report.numbers import UNKNOWN, known, plain, probability, signed
from cloudcmp.report.report_model import MARKS, StudyView
from cloudcmp.report.sheets import co_location
from cloudcmp.report.sheets.sheet import KINDS, Column, Field, Row, Sheet, captioned, heading, row
from cloudcmp.report.words import direction, parse_cell
from cloudcmp.units import format_quantity

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
    most = f"the worst is {victim_words(study, worst)}, beside {load_words(worst)}: {loss_words(study, worst)}"
    counted = f"{pairs}, {len(slowed)} slow{'s' * (len(slowed) == 1)} the victim; {most}."
    return f"{counted} {rest[0].upper()}{rest[1:]}." if rest else counted


_COUNTED = {
    Verdict.BETTER: "faster", Verdict.SAME: "practically the same", Verdict.CANNOT_TELL: "cannot tell yet",
}  # fmt: skip


def victim_words(study: StudyView, one: Effect) -> str:
    """The name of a victim's measurement."""
    return study.names.short(one.alone, frozenset(BESIDE))


def load_words(one: Effect) -> str:
    """The name of a load, with its threads if they are several, or with its rate if it has one."""
    name = one.load.replace("_", " ")
    if one.load in NETWORK_LOADS:
        return f"{name} at {format_quantity(one.level, 'B/s')}" if math.isfinite(one.level) else name
    return f"{name} ×{one.level:g}" if one.level > 1 else name


MANY_TIMES = 10.0
"""From this loss of a time on, words give the factor, not the percentage."""


def loss_words(study: StudyView, one: Effect) -> str:
    """The change with its interval: `23 % slower (21 to 25)`."""
    unit = study.view.metrics[parse_cell(one.victim).metric].unit
    if one.by_difference:
        return _interval(signed(one.change, unit), one.bounds, lambda end: signed(end, unit))
    if not known(one.lost):
        return UNKNOWN
    if one.lost >= MANY_TIMES:
        times = [1.0 + end for end in ((one.lost_bounds.low, one.lost_bounds.high) if one.lost_bounds else ())]
        ends_text = f" ({' to '.join(f'{end:.3g}' for end in times)})" if times else ""
        return f"{1.0 + one.lost:.3g} times as long{ends_text}"
    sign, word = (1.0, "slower") if one.lost >= 0.0 else (-1.0, "faster")
    ends = [] if one.lost_bounds is None else sorted((sign * one.lost_bounds.low, sign * one.lost_bounds.high))
    digits = 0 if max(map(abs, (one.lost, *ends))) >= 0.1 else 1
    texts = [f"{end * 100 + 0.0:.{digits}f}".replace("-0.0", "0.0") for end in (sign * one.lost, *ends)]
    return f"{texts[0]} % {word}{f' ({texts[1]} to {texts[2]})' if ends else ''}"


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
    """All effects with their spreads, and those that a thesis printed of the same pairs; empty without any."""
    found = study.view.effects
    return (_all(study, found), *_beside_the_thesis(study, found)) if found else ()


_ONE_HOST = OWN_HOSTS | {"simulated"}
"""Providers whose victim and neighbour are known to be on one host."""
_AFFINE = frozenset({"openstack", "rackspace"})
"""Providers whose `placement: cluster` asks for one host."""
_OF_THE_HOST = frozenset({"cpu", "memory"})
"""Loads that can slow only a victim on the same host; a disk may be another machine that both reach by network."""


def co_residence(study: StudyView) -> list[str]:
    """What is known of the host of a victim and its neighbour, in lines for each candidate that leases two machines.

    It is shown by contention, which is tested and corrected with all effects, or by more than the promised network
    between both machines. A short round trip is a hint, and how near a placement asks for is neither.
    """
    lines = []
    for candidate in study.candidates:
        some = [one for one in study.view.effects if one.candidate == candidate.index]
        if not some or candidate.runner in _ONE_HOST:
            continue
        shown = [*_by_contention(study, some), *_by_rate(study, candidate)]
        hints = [*_by_round_trip(study, candidate), *_by_placement(candidate)]
        if shown:
            lines.append(f"{candidate.id}: co-residence shown {'; and '.join(shown)}")
        else:
            not_shown = (
                "co-residence not shown: whether both machines are on one host is not known, so a victim that keeps "
                "its speed is no evidence of isolation"
            )
            lines += [f"{candidate.id}: {text}" for text in (not_shown, *hints)]
    return lines


def _by_contention(study: StudyView, effects: Sequence[Effect]) -> list[str]:
    slowed = [one for one in effects if one.load in _OF_THE_HOST and one.verdict is Verdict.WORSE]
    if not slowed:
        return []
    worst = max(slowed, key=lambda one: one.lost or 0.0)
    return [f"by contention: {victim_words(study, worst)} beside {load_words(worst)} {loss_words(study, worst)}, "
            "tested at 5 % for all pairs together"]  # fmt: skip


def _by_rate(study: StudyView, candidate: Candidate) -> list[str]:
    """The rate between victim and neighbour in a launch's other trials, if it is more than the promised network."""
    some = co_location.marked(study, candidate.index)
    if not some:
        return []
    fastest = max(some, key=lambda one: one.value)
    delivered, promised = (co_location.rate_words(rate) for rate in (fastest.value, fastest.limit))
    return [f"in {len(some)} of {fastest.n} launches by the rate between both: {delivered} where {promised} is "
            "promised, unless the provider delivers more than it promises"]  # fmt: skip


def _by_round_trip(study: StudyView, candidate: Candidate) -> list[str]:
    of_trips = (one for one in study.view.co_location if one.sign is Sign.ROUND_TRIP)
    some = [one for one in of_trips if one.candidate == candidate.index]
    if not some:
        return []
    shortest, count = min(some, key=lambda one: one.value), f"{len(some)} of {some[0].n} launches"
    return [f"a hint: in {count} the round trip between both is less than half of the others' (down to "
            f"{format_quantity(shortest.value, 's')}); how often this errs is unknown"]  # fmt: skip


def _by_placement(candidate: Candidate) -> list[str]:
    if dict(candidate.options).get("placement") != "cluster":
        return []
    if candidate.runner in _AFFINE:
        return ["placement: cluster asked for one host (affinity), which nothing has checked"]
    return ["placement: cluster asks for nearness and is no evidence of one host"]


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
    notes = filter(None, (NOTE, _sharing_note(study.candidates[candidate]), memory_note(study, candidate)))
    return Sheet(caption, columns, tuple(rows), " ".join(notes))


def _sharing_note(candidate: Candidate) -> str:
    """How victim and neighbour share one machine; empty if each has its own."""
    if candidate.runner not in ALONE:
        return ""
    return (
        "Victim and neighbour are pinned to a half of the processors each, or share the only one; no cgroup limits "
        "what either takes of time, memory or disk."
    )


_OF_MEMORY = (
    ("memory.thp", "transparent huge pages"), ("memory.huge_pages", "reserved huge pages"),
    ("memory.ksm", "merging of equal pages (KSM)"), ("memory.balloon", "balloon"),
)  # fmt: skip


def memory_note(study: StudyView, candidate: int) -> str:
    """What the machine of a victim says of its pages and its balloon; empty if it says nothing."""
    facts = dict(dict(study.view.hosts).get(candidate, ()))
    told = [f"{name} {one_line(facts[key], 40)}" for key, name in _OF_MEMORY if key in facts]
    if not told:
        return ""
    return f"Memory as the victim's machine sees it: {', '.join(told)}. Its host's own KSM and ballooning do not show."


def _field(study: StudyView, one: Effect) -> Field:
    """The change, with its interval on a line of its own: a matrix has a column for each load."""
    text, bracket, interval = loss_words(study, one).partition(" (")
    more = f"{bracket.strip()}{interval}"
    return Field(f"{MARKS[one.verdict]} {text}", f"n {one.n}", KINDS[one.verdict], more)


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


_PRINTED = (("pi_time_s", "cpu", "3.2"), ("triad_bytes_per_s", "memory", "3.3"))
"""The metric and the load of each table of Delgado's thesis on a guest alone (1 VM) and beside another (2 VM)."""


def _beside_the_thesis(study: StudyView, found: Sequence[Effect]) -> list[Sheet]:
    """What Delgado printed, beside the same pairs of this study; empty if it has none of them."""
    rows = []
    for metric, load, number in _PRINTED:
        own = [one for one in found if (parse_cell(one.victim).metric, one.load) == (metric, load)]
        if own:
            table = load_document("delgado-2010").table(number)
            alone, beside = (list(table.column(column).values()) for column in ("1 VM", "2 VM"))
            change, ratio = float(beside[0]) / float(alone[0]) - 1.0, float(beside[1]) / float(alone[1])
            unit = table.rows[0][0].partition("(")[2].rstrip(")")
            rows.append(
                row(f"Delgado, table {number}, page {table.page}", load, f"{alone[0]} {unit}", f"{beside[0]} {unit}",
                    f"{change * 100:+.1f} %", f"{ratio:.1f}")
            )  # fmt: skip
        rows += [_own_row(study, one) for one in own]
    rows += _beside_table_3_4(study, found)
    columns = (Column("measured"), Column("beside"), Column("alone", True), Column("beside it", True),
               Column("change", True), Column("ratio of the standard deviations", True))  # fmt: skip
    note = (
        "Delgado, Exploring the limits of cloud computing, 2010: one pair of KVM guests, 100 runs each, alone and then "
        "beside the other; the change of the means, and of the standard deviations of the runs. Table 3.4: sets of "
        "3000 pings over a link of 100 Mbit/s that was shaped to 47. Ours are medians over launches."
    )
    return [Sheet(captioned(study.origin, "Beside the printed figures"), columns, tuple(rows), note)] if rows else []


_SENT, _RECEIVED = ("SENDER", "net_out"), ("RECEIVER", "net_in")


def _beside_table_3_4(study: StudyView, found: Sequence[Effect]) -> list[Row]:
    """Round trips beside a guest that sends or receives, as Delgado printed them, and this study's medians."""
    of_rtt = [one for one in found if parse_cell(one.victim).metric == "rtt_s"]
    rows = []
    for kind, load in (_SENT, _RECEIVED):
        own = [one for one in of_rtt if one.load == load and parse_cell(one.victim).get("percentile") == "50"]
        if not own:
            continue
        table = load_document("delgado-2010").table("3.4")
        sets: dict[str, list[tuple[float, float]]] = {}
        for of_kind, rate, _, average, _, sd in table.rows:
            if of_kind == kind:
                sets.setdefault(rate, []).append((float(average), float(sd)))
        means = [(fmean(mean for mean, _ in some), fmean(sd for _, sd in some)) for some in sets.values()]
        (alone, quiet), *others = means
        for (mean, deviation), rate in zip(others, list(sets)[1:], strict=True):
            words = f"Delgado, table {table.number}, page {table.page}: round trip, mean of {len(sets[rate])} sets"
            rows.append(
                row(words, f"{load.replace('_', ' ')} at {rate} Mbit/s", f"{alone:.3f} ms", f"{mean:.3f} ms",
                    f"{(mean / alone - 1.0) * 100:+.1f} %", f"{deviation / quiet:.1f}")
            )  # fmt: skip
        rows += [_own_row(study, one) for one in own]
    return rows


def _own_row(study: StudyView, one: Effect) -> Row:
    words = (_value(study, one, cell).text for cell in (one.alone, one.beside))
    change = UNKNOWN if one.change is None else f"{one.change * 100:+.1f} %"
    who = f"{study.candidates[one.candidate].id}: {victim_words(study, one)}"
    return row(who, load_words(one), *words, change, plain(one.sd_ratio))


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
