"""What a study found of the names of endpoints: the addresses given to each vantage point, and the times to them."""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from cloudcmp.analysis.facts import reported
from cloudcmp.app.study_view import Measured
from cloudcmp.model.trial import Outcome
from cloudcmp.model.wide_area import AddressTime, NameAnswers
from cloudcmp.plan import vantage_of
from cloudcmp.provider.common.hosts import is_address


@dataclass(slots=True)
class _Name:
    """What is gathered of one name; times by vantage and address, with echoes that came back and that were sent."""

    provider: str
    given: dict[tuple[int, str], None] = field(default_factory=dict)
    medians: dict[tuple[int, str], list[float]] = field(default_factory=dict)
    counts: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)

    def add(self, vantage: int, text: str) -> None:
        """Adds a note of the agent: an address, how many of how many echoes came back, and their median (s)."""
        address, *words = text.split()
        if not is_address(address) or len(words) < 2 or not all(map(str.isdigit, words[:2])):
            return
        had = self.counts.get((vantage, address), (0, 0))
        self.counts[vantage, address] = (had[0] + int(words[0]), had[1] + int(words[1]))
        try:
            value = float(words[2]) if len(words) > 2 else 0.0
        except ValueError:
            return
        if 0.0 < value < 3600.0:
            self.medians.setdefault((vantage, address), []).append(value)


def names_of(measured: Measured, vantage_at: Mapping[str, int]) -> tuple[NameAnswers, ...]:
    """The names of a study's endpoints that are names, and not addresses; `vantage_at` numbers the vantage points.

    A time is the median of the medians of trials; trials without `every_address` tell what was given alone.
    """
    plan, found = measured.plan, dict[str, _Name]()
    for attempt in measured.attempts:
        trial = plan.trials[attempt.trial] if attempt.trial < len(plan.trials) else None
        service = plan.candidates[plan.launches[trial.launch].candidate].service if trial else None
        vantage = vantage_at.get(vantage_of(trial)) if trial else None
        host = urlsplit(service.endpoint).hostname if service else None
        if service is None or vantage is None or not host or is_address(host) or attempt.outcome is not Outcome.OK:
            continue
        name = found.setdefault(host, _Name(service.provider))
        notes = reported(attempt).get("notes")
        for key, value in notes.items() if isinstance(notes, dict) else ():
            if key == "addresses":
                name.given.update(((vantage, one), None) for one in str(value).split() if is_address(one))
            elif key.removeprefix("address_").isdigit():
                name.add(vantage, str(value))
    return tuple(_answers(host, name) for host, name in found.items() if name.given)


def _answers(host: str, name: _Name) -> NameAnswers:
    all_addresses = dict.fromkeys(address for _, address in (*name.given, *name.counts))
    at = {address: number for number, address in enumerate(all_addresses)}
    times = tuple(
        AddressTime(
            vantage, at[address], statistics.median(some) if (some := name.medians.get((vantage, address))) else None,
            back, sent,
        )
        for (vantage, address), (back, sent) in name.counts.items()
    )  # fmt: skip
    return NameAnswers(name.provider, host, tuple(at), tuple((one, at[address]) for one, address in name.given), times)
