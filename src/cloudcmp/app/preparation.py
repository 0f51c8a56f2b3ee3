"""What machines are made of is fetched and built before a study begins: no measured time holds it."""

from collections.abc import Callable

from cloudcmp.catalog import metrics_with
from cloudcmp.model.plan import Plan
from cloudcmp.model.protocol import NeedsPreparation
from cloudcmp.provider.registry import ProviderOptions, make


async def prepare(plan: Plan, say: Callable[[str], None]) -> None:
    """Have the providers of a plan fetch what they need on this computer; raises the kinds of ProviderFault."""
    means = ProviderOptions(metrics=metrics_with(plan.commands), candidates=plan.candidates)
    for name in dict.fromkeys(one.runner for one in plan.candidates):
        provider = make(name, means)
        if isinstance(provider, NeedsPreparation):
            await provider.prepare([one for one in plan.candidates if one.runner == name], say)
