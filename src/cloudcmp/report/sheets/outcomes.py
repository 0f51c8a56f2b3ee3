"""The sheet of trial outcomes, and the warnings; a failure is a result and is listed."""

from collections import Counter
from collections.abc import Iterator

from cloudcmp.model.trial import Attempt, Outcome
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import co_location
from cloudcmp.report.sheets.isolation import co_residence
from cloudcmp.report.sheets.sheet import Field, Sheet, captioned, columns, row

_MOST_REASONS = 3


def sheet(study: StudyView) -> Sheet | None:
    """Return attempts by candidate and outcome with their reasons, without those that the controller interrupted."""
    ended = _ended(study)
    if not ended:
        return None
    kinds = [outcome for outcome in Outcome
             if any(one.outcome is outcome for attempts in ended.values() for one in attempts)]  # fmt: skip
    rows = [
        row(study.candidates[at].id, *(str(sum(one.outcome is kind for one in ended[at])) for kind in kinds),
            Field(_reasons(ended[at])))
        for at in sorted(ended)
    ]  # fmt: skip
    titles = columns("candidate", *kinds, "why", numeric=tuple(kinds))
    return Sheet(captioned(study.origin, "How the trials ended"), titles, tuple(rows))


def outcome_counts(study: StudyView) -> str:
    """Describe how many trials gave a value: `144 trials, all ok`; empty for a table without trials.

    A study that has not ended says that its answer is preliminary: whoever stops it because of what it shows, is misled
    more often than its error rates say.
    """
    ended = [one for attempts in _ended(study).values() for one in attempts]
    lost = sum(one.outcome is not Outcome.OK for one in ended)
    if not ended:
        return ""
    left = len(study.view.plan.trials) - len({one.trial for one in ended})
    preliminary = f"; PRELIMINARY: {left} trials were not run yet" if left > 0 else ""
    return f"{len(ended)} trials, {f'{lost} without a value' if lost else 'all ok'}{preliminary}"


def _ended(study: StudyView) -> dict[int, list[Attempt]]:
    """Return the attempts that ended by themselves, by candidate."""
    plan = study.view.plan
    of_trial = {trial.index: trial for trial in plan.trials}
    of_launch = {launch.index: launch.candidate for launch in plan.launches}
    ended: dict[int, list[Attempt]] = {}
    for one in study.view.attempts:
        trial = of_trial.get(one.trial)
        if trial is not None and not one.interrupted:
            ended.setdefault(of_launch[trial.launch], []).append(one)
    return ended


def _reasons(attempts: list[Attempt]) -> str:
    """The most frequent reasons of those that failed, with their number."""
    counted = Counter(one_line(one.why, 120) for one in attempts if one.outcome is not Outcome.OK and one.why)
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{why} ({times} times)" if times > 1 else why for why, times in ranked[:_MOST_REASONS]]
    return "; ".join(lines) + ("; and others" if len(ranked) > _MOST_REASONS else "")


def warnings(study: StudyView) -> tuple[str, ...]:
    """Return all warnings that a reader must know before trusting a number, each once."""
    lines = [
        *co_residence(study),
        *co_location.lines(study),
        *(study.short_names.within(text) for text in study.view.warnings),
    ]
    places: dict[str, tuple[list[str], list[str]]] = {}
    for view in study.cells:
        for at, one in view.estimates.items():
            for text in one.warnings:
                names, cells = places.setdefault(text, ([], []))
                names.append(study.short[at])
                cells.append(view.name)
    for text, (names, cells) in places.items():
        who, where = list(dict.fromkeys(names)), list(dict.fromkeys(cells))
        more = f", and {len(where) - 1} more" if len(where) > 1 else ""
        lines.append(f"{', '.join(who)}: {text} ({where[0]}{more})")
    lines.extend(_why(study))
    return tuple(dict.fromkeys(one_line(text, 400) for text in lines))


def _why(study: StudyView) -> Iterator[str]:
    """For each candidate with failures their reasons, in one line."""
    for at, attempts in sorted(_ended(study).items()):
        if why := _reasons(attempts):
            yield f"{study.short[at]}: why trials failed: {why}"
