"""The data of the JSON document of `simulate`."""

from dataclasses import fields
from typing import Any

from cloudcmp.model.simulation import Outcome, Simulation

Data = dict[str, Any]


def simulation(found: Simulation) -> Data:
    """The document of `simulate`: the scenario without its matrices, the outcomes, and what the search found."""
    scenario = found.scenario
    kept = ("name", "question", "seed", "runs", "duration_s", "mode", "arrivals", "grouping", "broker", "balancing",
            "discipline", "cloudanalyst", "service")  # fmt: skip
    return {
        "simulated": True,
        "scenario": {
            **{name: getattr(scenario, name) for name in kept},
            "latency": scenario.latency.source,
            "bandwidth": scenario.bandwidth.source,
            "user_bases": [{"name": one.name, "region": one.region} for one in scenario.bases],
            "data_centres": [{"name": one.name, "region": one.region} for one in scenario.centres],
        },
        **_outcome(found.outcome),
        "variants": [{"name": one.name, "why": one.why, **_outcome(one)} for one in found.variants],
        "search": found.found,
        "cautions": found.cautions,
    }


def _outcome(one: Outcome) -> Data:
    printed = [{**{each.name: getattr(pair, each.name) for each in fields(pair)}, "difference": pair.difference}
               for pair in one.printed]  # fmt: skip
    return {"deployments": one.deployments, "printed": printed}
