"""The data of the JSON documents of `profile` and `predict`."""

from pathlib import Path
from typing import Any

from cloudcmp.model.demands import ProgramDemands
from cloudcmp.model.prediction import Prediction

Data = dict[str, Any]


def demands(found: ProgramDemands, out: Path | None) -> Data:
    """The document of `profile`: each counter with its interval, and what is missing."""
    return {
        "application": found.name,
        "command": found.command,
        "home": found.home._asdict(),
        "cpus": found.cpus,
        "cpu_model": found.cpu_model,
        "runs": found.runs,
        "demands": [
            {"name": one.counter, "unit": one.unit, "mean": one.mean, "bounds": one.bounds, "n": one.n}
            for one in found.figures
        ],
        "threads": found.threads,
        "parallel": [{"threads": many, "share": share} for many, share in found.parallel],
        "unseen_s": found.unseen_s,
        "missing": found.missing,
        "cautions": found.cautions,
        "out": out,
    }


def prediction(found: Prediction) -> Data:
    """The document of `predict`: the candidates by their aim, the first three being the short list."""
    return {
        "application": found.name,
        "kind": found.kind,
        "minimise": found.aim,
        "currency": found.currency,
        "cost_units": found.units,
        "parts": found.parts,
        "short_list": [one.key._asdict() for one in found.short_list],
        "candidates": [
            {"key": one.key._asdict(), "time_s": one.time_s, "interval": one.interval, "overlapped_s": one.overlapped_s,
             "serial_s": one.serial_s, "parts_s": one.parts_s, "cost": one.cost, "cost_interval": one.cost_interval,
             "ran_s": one.ran_s, "excluded": one.excluded, "burstable": one.burstable}
            for one in found.candidates
        ],
        "left_out": [{"key": one.key._asdict(), "lack": one.lack, "what": one.what} for one in found.left_out],
        "basis": found.basis,
        "confidence": found.confidence,
        "benchmark": found.benchmark,
        "explained": found.explained,
        "ran": found.ran,
        "error": found.error,
        "home": found.home._asdict() if found.home else None,
        "home_ratio": found.home_ratio,
        "counted": found.counted,
        "uncounted": found.uncounted,
        "simulated": found.simulated,
        "reason": found.reason,
        "rests_on": found.rests_on,
        "cautions": found.cautions,
    }  # fmt: skip
