"""Reads a file that says what a service level is worth: terms of a utility, or Menasce and Ngo's problem."""

import math
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from cloudcmp.model.metric import Better
from cloudcmp.model.utility import Curve, LevelProblem, LevelTerm, UtilityQuestion, UtilityTerm
from cloudcmp.study import quantities
from cloudcmp.study.faults import Faults, shown
from cloudcmp.study.shape import Shape, Word, fit, schema_number
from cloudcmp.study.tree import Tree, read_tree
from cloudcmp.units import Money, parse_price_per_hour

_EXAMPLE = "see docs/how-to/sla.md"


def _weight(value: object) -> float:
    """A weight between 0 and 1, as a number or in percent."""
    weight = float(str(value)) if quantities.is_number(value) else quantities.share(value)
    if not 0 < weight <= 1:
        raise ValueError(f"{shown(value)} is not above 0 and at most 1; write e.g. 0.5")
    return weight


def _above_zero(value: object) -> float:
    if not quantities.is_number(value) or float(str(value)) <= 0:
        raise ValueError(f"{shown(value)} is not a number above 0; write e.g. 4")
    return float(str(value))


def _number(value: object) -> float:
    if not quantities.is_number(value) or float(str(value)) < 0:
        raise ValueError(f"{shown(value)} is not a number of at least 0; write e.g. 0.5")
    return float(str(value))


def _hourly(value: object) -> Money:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is no price of one hour; write e.g. 0.10 USD/h")
    return parse_price_per_hour(value)


def _curve(value: object) -> Curve:
    try:
        return Curve(str(value))
    except ValueError:
        known = ", ".join(one.value for one in Curve)
        raise ValueError(f"{shown(value)} is no curve; write one of {known}") from None


def _direction(value: object) -> Better:
    try:
        return Better(str(value))
    except ValueError:
        raise ValueError(f"{shown(value)} is no direction; write {' or '.join(one.value for one in Better)}") from None


Weight = Annotated[float, BeforeValidator(_weight)]
AboveZero = Annotated[float, BeforeValidator(_above_zero)]
Number = Annotated[float, BeforeValidator(_number)]
Hourly = Annotated[Money, BeforeValidator(_hourly)]
Direction = Annotated[Better, BeforeValidator(_direction)]
CurveName = Annotated[Curve, BeforeValidator(_curve)]


class _TermShape(Shape):
    """A term of a utility."""

    of: Word
    weight: Weight
    curve: CurveName = Curve.SIGMOID
    midpoint: Word | None = None
    slope: AboveZero | None = None
    scale: AboveZero = 1.0
    better: Direction | None = None


class _ResponseShape(Shape):
    """Menasce and Ngo's response time: its cost is alpha * exp(-beta * response)."""

    weight: Weight
    alpha: AboveZero
    beta: AboveZero
    low: Number = Field(0.0, alias="from")
    high: AboveZero = Field(alias="to")


class _ThroughputShape(Shape):
    """Menasce and Ngo's throughput: its cost is alpha * throughput."""

    weight: Weight
    alpha: AboveZero
    low: Number = Field(0.0, alias="from")
    high: AboveZero = Field(alias="to")


class _AvailabilityShape(Shape):
    """Menasce and Ngo's availability: its cost is exp(beta * availability) - exp(0.9 * beta)."""

    weight: Weight
    beta: AboveZero
    low: Number = Field(0.9, alias="from")
    high: AboveZero = Field(1.0, alias="to")


class _LevelShape(Shape):
    """Menasce and Ngo's problem."""

    budget: AboveZero
    response: _ResponseShape
    throughput: _ThroughputShape
    availability: _AvailabilityShape


class _UtilityShape(Shape):
    """A utility file."""

    schema_: Annotated[int, BeforeValidator(schema_number)] = Field(1, alias="schema")
    utility: dict[str, _TermShape] = Field(default_factory=dict)
    require: list[Word] = Field(default_factory=list)
    budget: Hourly | None = None
    menasce_ngo: _LevelShape | None = None


def read_utility(content: bytes, path: Path) -> UtilityQuestion:
    """The utility of a file's content; `path` names it in faults.

    Raises UserMistake with all faults, one line each, `file:line:column: what; what next`.
    """
    faults = Faults(str(path))
    tree = read_tree(content, faults, _EXAMPLE)
    shape = None
    if isinstance(tree.data, dict):
        shape = fit(_UtilityShape, tree, tree.data, (), faults)
    elif tree.data is not None:
        faults.add((1, 1), "a utility is made of key: value lines", _EXAMPLE)
    if shape is not None:
        _check(shape, tree, faults)
    faults.raise_any()
    assert shape is not None  # else there was a fault
    terms = tuple(
        UtilityTerm(name, one.of, one.weight, one.curve, one.midpoint or "", one.slope or 0.0, one.scale, one.better)
        for name, one in shape.utility.items()
    )
    return UtilityQuestion(terms, tuple(shape.require), shape.budget, _levels(shape.menasce_ngo))


def _check(shape: _UtilityShape, tree: Tree, faults: Faults) -> None:
    if not shape.utility and shape.menasce_ngo is None:
        faults.add((1, 1), "nothing says what is worth how much", "write utility: or menasce_ngo:")
    for name, term in shape.utility.items():
        sigmoid = term.curve is Curve.SIGMOID
        if sigmoid and (term.midpoint is None or term.slope is None):
            what = f"{shown(name)} has no midpoint and slope, which a sigmoid needs"
            faults.add(tree.place(("utility", name)), what, "write e.g. {midpoint: 300 ms, slope: 6}")
        if not sigmoid and (term.midpoint is not None or term.slope is not None):
            what = f"{shown(name)} has a midpoint or a slope, which only a sigmoid has"
            faults.add(tree.place(("utility", name)), what, "write its scale")
    if shape.utility:
        _check_weights(faults, tree, ("utility",), [one.weight for one in shape.utility.values()])
    if shape.menasce_ngo is not None:
        _check_levels(shape.menasce_ngo, tree, faults)


def _check_weights(faults: Faults, tree: Tree, place: tuple[str, ...], weights: list[float]) -> None:
    if not math.isclose(sum(weights), 1.0, abs_tol=1e-6):
        faults.add(tree.key(place), f"the weights add up to {sum(weights):g}", "let them add up to 1")


def _check_levels(found: _LevelShape, tree: Tree, faults: Faults) -> None:
    parts: dict[str, _ResponseShape | _ThroughputShape | _AvailabilityShape] = {
        "response": found.response, "throughput": found.throughput, "availability": found.availability,
    }  # fmt: skip
    _check_weights(faults, tree, ("menasce_ngo",), [one.weight for one in parts.values()])
    for name, one in parts.items():
        if one.low >= one.high:
            faults.add(
                tree.place(("menasce_ngo", name)), f"{name} goes from {one.low:g} to {one.high:g}", "let it rise"
            )
    if found.availability.low < 0.9 or found.availability.high > 1:
        what = "an availability is from 0.9 to 1 here"
        faults.add(tree.place(("menasce_ngo", "availability")), what, "write e.g. {from: 0.9, to: 0.9999}")


def _levels(found: _LevelShape | None) -> LevelProblem | None:
    if found is None:
        return None
    response, throughput, availability = found.response, found.throughput, found.availability
    return LevelProblem(
        found.budget,
        LevelTerm(response.weight, response.alpha, response.beta, response.low, response.high),
        LevelTerm(throughput.weight, throughput.alpha, 0.0, throughput.low, throughput.high),
        LevelTerm(availability.weight, 0.0, availability.beta, availability.low, availability.high),
    )
