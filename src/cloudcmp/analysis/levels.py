"""What goes with two levels of a candidate's launches: its processor, zone, hour, or another fact that was recorded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from cloudcmp.model.history import Facts
from cloudcmp.model.plan import Plan
from cloudcmp.model.steadiness import ModeFact, TwoLevels
from cloudcmp.stats.adjust import holm
from cloudcmp.stats.association import split_chance
from cloudcmp.stats.check import Floats
from cloudcmp.stats.drift import two_modes

Flags = npt.NDArray[np.bool_]

ALPHA = 0.05
# A fact goes with two levels if it also puts this share of the launches on the right one.
_EXPLAINS = 0.9
_HOURS = ("00 to 06 h", "06 to 12 h", "12 to 18 h", "18 to 24 h")
HOUR, DAY, SESSION = "hour (UTC)", "day", "session"
# Of facts that split the launches equally well, the likelier cause is told first.
_CAUSES = ("cpu", "zone", HOUR, DAY, SESSION)


def _never(_launch: int) -> float | None:
    """The time of a launch, which is unknown."""
    return None


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What is known of the launches of a plan: the facts that agents reported, and when each launch began (Unix time).

    `facts` has an item for each launch, or none at all. Nothing is computed before two levels are seen.
    """

    plan: Plan
    facts: Sequence[Facts] = ()
    begun: Callable[[int], float | None] = _never

    def of(self, launch: int) -> dict[str, str]:
        """The facts of one launch by name, with its session, and the hour and day (UTC) at which it began."""
        found = dict(self.facts[launch]) if self.facts else {}
        session, begun = self.plan.launches[launch].session, self.begun(launch)
        if session is not None:
            found[SESSION] = session
        if begun is not None:
            moment = datetime.fromtimestamp(begun, UTC)
            found |= {HOUR: _HOURS[moment.hour // 6], DAY: "weekend" if moment.weekday() > 4 else "weekday"}
        return found

    def goes_with(self, launches: Sequence[int | None], high: Flags) -> tuple[tuple[ModeFact, ...], tuple[str, ...]]:
        """The facts that go with the level of some launches, the best first; and the names of all that were tested.

        `high` is true for launches of the upper level. A fact is tested if it is known of all launches, and neither all
        nor none of them have the same value. It goes with the levels if its values put at least 90 % of the launches on
        the right one, and so many more than by chance: Holm's p over all facts below 0.05. It does not tell a cause:
        what changed at the same time goes with the levels as well.
        """
        facts = [{} if at is None else self.of(at) for at in launches]
        tested = dict(_tested(facts))
        p_values = [split_chance(codes, high, seed=self.plan.seed + at) for at, codes in enumerate(tested.values())]
        corrected = holm(np.array(p_values)).tolist() if p_values else []
        found = [
            replace(one, p=p)
            for name, p in zip(tested, corrected, strict=True)
            if p < ALPHA and (one := _mode_fact(name, [one[name] for one in facts], high)) is not None
        ]
        return tuple(sorted(found, key=lambda one: (-one.share, _rank(one.fact)))), tuple(tested)


def two_levels(values: Floats, launches: Sequence[int | None], facts: LaunchFacts) -> TwoLevels | None:
    """The two levels of launch values with the facts that go with them; None if there are not clearly two."""
    modes = two_modes(values)
    if modes is None:
        return None
    named, tested = facts.goes_with(launches, values > (modes.low + modes.high) / 2.0)
    return TwoLevels(modes.low, modes.high, modes.share_high, named, tested)


def level_words(launches: Sequence[int], of_trial: npt.NDArray[np.intp], high: Flags, facts: LaunchFacts) -> str:
    """What goes with two levels of trial values, for a warning: `of_trial` has the place of its launch in `launches`.

    If more than a tenth of the launches have trials of both levels, no fact of a launch can.
    """
    runs = np.bincount(of_trial, minlength=len(launches))
    upper = np.bincount(of_trial, weights=high, minlength=len(launches))
    mixed = (upper > 0) & (upper < runs)
    if mixed.mean() > 1.0 - _EXPLAINS:
        return f"both inside {int(mixed.sum())} of {len(launches)} launches"
    named, tested = facts.goes_with(launches, upper * 2.0 > runs)
    if named:
        return f"with the {' and '.join(one.fact.replace('_', ' ') for one in named[:3])} of the launch"
    return "nothing that was recorded of the launches goes with them" if tested else ""


def _tested(facts: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """The facts that can tell something, in the order of their names, with the number of its value for each launch."""
    for name in sorted({key for one in facts for key in one}):
        texts = [one.get(name) for one in facts]
        values = dict.fromkeys(texts)
        if None not in values and 1 < len(values) < len(texts):
            place = {text: at for at, text in enumerate(values)}
            yield name, np.array([place[text] for text in texts], np.int64)


def _rank(fact: str) -> tuple[int, str]:
    return (_CAUSES.index(fact) if fact in _CAUSES else len(_CAUSES), fact)


def _mode_fact(name: str, texts: Sequence[str], high: Flags) -> ModeFact | None:
    """A fact whose values put nearly all launches on the right level; None if it does not."""
    of = np.array(texts)
    upper = {text for text in set(texts) if high[of == text].mean() > 0.5}
    lower = set(texts) - upper
    right = float((np.isin(of, list(upper)) == high).mean())
    if right < _EXPLAINS or not upper or not lower:
        return None
    return ModeFact(name, tuple(sorted(lower)), tuple(sorted(upper)), right)
