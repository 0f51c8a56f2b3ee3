"""The keys of a study that end it before all launches: `until`, and `stop` with its rule."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema

from cloudcmp.model.selection import FIRST_STAGE, Stop, StopRule
from cloudcmp.model.study import FEWEST_LAUNCHES
from cloudcmp.study import quantities
from cloudcmp.study import value_schemas as schemas
from cloudcmp.study.faults import Faults
from cloudcmp.study.shape import Head, Shape, Share, fit
from cloudcmp.study.tree import Tree
from cloudcmp.units import Money

Spend = Annotated[Money, BeforeValidator(quantities.yearly_spend), WithJsonSchema(schemas.SPEND)]
_TOLERANCES = {StopRule.CERTIFY: 0.02, StopRule.RANKING: 0.03, StopRule.BUDGET: 0.0}
"""The tolerance of each rule unless the study gives it; `budget` weighs differences by money instead."""


class StopShape(Shape):
    """The rule by which a study stops, with its figures."""

    rule: Literal["fixed", "certify", "ranking", "budget"] | None = None
    tolerance: Share | None = None
    spend: Spend | None = None


def until(head: Head, tree: Tree, faults: Faults) -> float | None:
    """The share at which a study stops early, after checking that it has rounds to spare."""
    if head.until is None:
        return None
    if not 0.0 < head.until < 1.0:
        faults.add(tree.place(("until",)), "until must lie between 0 and 100 %", "write e.g. until: 5 %")
    else:
        _check_rounds("until", head, tree, faults)
    return head.until


def stop(head: Head, tree: Tree, faults: Faults) -> Stop | None:
    """The rule of a study, after checking its figures; None for a fixed number of launches."""
    if head.stop is None:
        return None
    shape = fit(StopShape, tree, {"rule": head.stop} if isinstance(head.stop, str) else head.stop, ("stop",), faults)
    if shape is None:
        return None
    rule = shape.rule or ("budget" if shape.spend else "certify")
    if rule == "fixed":
        return None
    wanted = "spend" if rule == "budget" else "tolerance"
    for key, given in (("spend", shape.spend), ("tolerance", shape.tolerance)):
        if given is not None and key != wanted:
            faults.add(tree.place(("stop", key)), f"{key} says nothing with {rule}", f"leave out {key}")
    if rule == "budget" and shape.spend is None:
        what = "budget weighs the launches against the money that the choice decides over"
        faults.add(tree.place(("stop",)), what, "write stop: {rule: budget, spend: 20000 USD/year}")
    if shape.tolerance is not None and not 0.0 < shape.tolerance < 1.0:
        what = "with a tolerance of 0 equal candidates would never end"
        faults.add(tree.place(("stop", "tolerance")), what, "write e.g. tolerance: 2 %")
    if head.until is not None:
        faults.add(tree.key(("until",)), "until and stop both say when to stop", "leave out one of them")
    if rule == "ranking" and FEWEST_LAUNCHES < head.launches <= FIRST_STAGE:
        what = f"ranking learns the spreads from {FIRST_STAGE} launches, and stops before all"
        faults.add(tree.key(("stop",)), what, "write the most that may be run, e.g. launches: 40")
    _check_rounds("stop", head, tree, faults)
    known = StopRule(rule)
    return Stop(known, _TOLERANCES[known] if shape.tolerance is None else shape.tolerance, shape.spend)


def _check_rounds(key: str, head: Head, tree: Tree, faults: Faults) -> None:
    """Checks that a study which may stop early has rounds to spare."""
    if head.launches <= FEWEST_LAUNCHES:
        what = f"{key} stops before all launches, and a verdict needs {FEWEST_LAUNCHES} of them"
        faults.add(tree.key((key,)), what, "write the most that may be run, e.g. launches: 20")
    elif head.sessions:
        what = f"{key} stops after any round, and each session needs all of its own"
        faults.add(tree.key((key,)), what, f"leave out {key}, or the sessions")
