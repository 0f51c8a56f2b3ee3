"""Where the machines of a trial stand: a fact of each, and what is within one zone must be in one."""

import json
from collections.abc import Sequence
from dataclasses import replace

from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.trial import Outcome, TrialResult
from cloudcmp.model.untrusted_text import one_line


def apart(trial: PlannedTrial, zones: Sequence[str]) -> TrialResult | None:
    """The result of a trial within one zone whose two machines are not known to be in one; None for any other."""
    two = zones[:2]
    if dict(trial.params).get("path") != "zone" or len(two) < 2 or (len(set(two)) == 1 and "unknown" not in two):
        return None
    what = f"path: zone, and its machines are in {one_line(two[0], 40)} and {one_line(two[1], 40)}"
    return TrialResult(Outcome.INVALID, (), what, '{"notes":{"payload_bytes":0}}')  # nothing was sent


def with_zones(result: TrialResult, zones: Sequence[str]) -> TrialResult:
    """The result with the zones of the launch's machines among its facts; as it is where there are none."""
    told = json.loads(result.facts or "{}") if zones else None
    if not isinstance(told, dict):
        return result
    told["zones"] = [one_line(zone, 40) for zone in zones]
    return replace(result, facts=json.dumps(told, sort_keys=True, separators=(",", ":")))
