"""Prints a prediction: the short list first, what it rests on, and every candidate."""

from collections.abc import Iterator

from rich.console import Console

from cloudcmp.answer.choice.sentences import how_many
from cloudcmp.answer.prediction.sentences import cost_words, time_words, unit_words
from cloudcmp.model.application import ApplicationKind
from cloudcmp.model.prediction import Aim, Lack, Predicted, Prediction
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.table import Head, labelled, say, table
from cloudcmp.units import format_in, scale_of

_SHOWN = 12
_PARTS = 4
_WORDS = {
    ApplicationKind.PAGES: "response time of a page",
    ApplicationKind.STATIC: "response time of a file",
    ApplicationKind.JOBS: "finishing time of a job",
    ApplicationKind.PROGRAM: "finishing time of a run",
}


def show_prediction(console: Console, found: Prediction, *, every: bool = False) -> None:
    """Print a prediction; `every` adds all candidates, those left out, and the times of each part."""
    aim = "time" if found.aim is Aim.TIME else "cost"
    say(console, f"{found.name}: {_WORDS[found.kind]}, least {aim}", "bold")
    say(console, "")
    for label, text, style in _lines(found):
        labelled(console, label, text, style)
    say(console, "")
    _candidates(console, found, every=every)
    if len(found.parts) > 1:
        say(console, "")
        _parts(console, found)
    if every and found.left_out:
        say(console, "")
        rows = [[str(one.key), _LACK[one.lack], one.what] for one in found.left_out]
        table(console, ["without a prediction", "why", "what"], rows)
    elif found.left_out or len(found.candidates) > _SHOWN:
        hidden = max(0, len(found.candidates) - _SHOWN)
        parts = [how_many(hidden, "more candidate")] * (hidden > 0)
        parts += [f"{len(found.left_out):,} that were left out"] * bool(found.left_out)
        labelled(console, "MORE", f"--all shows {' and '.join(parts)}", "dim")


_LACK = {Lack.UNMEASURED: "not measured", Lack.MEMORY: "too little memory", Lack.SIZE: "another size"}


def _lines(found: Prediction) -> Iterator[tuple[str, str, str]]:
    for at, one in enumerate(found.short_list):
        text = f"{at + 1}. {one.key}: {time_words(one)}, {cost_words(found, one)}"
        yield ("SHORT LIST" if not at else ""), text, "" if at else "bold"
    if found.reason:
        yield "WHY", " ".join(found.reason), ""
    for at, text in enumerate(found.rests_on):
        yield ("RESTS ON" if not at else ""), text, ""
    for at, text in enumerate((*found.cautions, *found.notes)):
        yield ("MIND" if not at else ""), text, "yellow"


def _candidates(console: Console, found: Prediction, *, every: bool) -> None:
    shown = found.candidates if every else found.candidates[:_SHOWN]
    factor, unit = scale_of(shown[0].time_s, "s")
    money = f"{found.currency} {unit_words(found)}" if found.currency else "cost"
    heads: list[str | Head] = ["candidate", Head(unit), Head("interval"), Head("bounds"), Head(money), ""]
    rows = [_row(one, factor) for one in shown]
    note = (f"interval: {found.confidence * 100:g} %; bounds: all demands at once by the best benchmark, to one after "
            "the other by the worst")  # fmt: skip
    table(console, heads, rows, title="Candidates", note=note)


def _row(one: Predicted, factor: float) -> list[object]:
    def words(value: float) -> str:
        return format_in(value, factor, "")

    interval = UNKNOWN if one.interval is None else f"{words(one.interval.low)}-{words(one.interval.high)}"
    bounds = f"{words(one.overlapped_s)}-{words(one.serial_s)}"
    cost = UNKNOWN if one.cost is None else f"{one.cost:.3g}"
    return [str(one.key), words(one.time_s), interval, bounds, cost, _mark(one)]


def _mark(one: Predicted) -> str:
    if one.ran_s is not None:
        return "ran"
    if one.burstable:
        return "burstable"
    return "behind" if one.excluded else ""


def _parts(console: Console, found: Prediction) -> None:
    """Print the time of each part on the short list."""
    shown = found.short_list
    factor, unit = scale_of(shown[0].parts_s[0], "s")
    heads: list[str | Head] = ["part", *(Head(str(one.key)) for one in shown[:_PARTS])]
    rows = [[name, *(format_in(one.parts_s[at], factor, "") for one in shown[:_PARTS])]
            for at, name in enumerate(found.parts)]  # fmt: skip
    table(console, heads, rows, title=f"Time of each part by its demands, {unit}")
