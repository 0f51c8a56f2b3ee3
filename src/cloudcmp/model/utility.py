"""What a service level is worth to a user, and the offering or level that is worth most within a budget."""

from dataclasses import dataclass
from enum import StrEnum

from cloudcmp.model.market import OfferKey
from cloudcmp.model.metric import Better
from cloudcmp.model.result import Bounds
from cloudcmp.units import Money


class Curve(StrEnum):
    """How a value becomes a utility between 0 and 1."""

    SIGMOID = "sigmoid"
    RESPONSE = "menasce-ngo response"
    THROUGHPUT = "menasce-ngo throughput"
    AVAILABILITY = "menasce-ngo availability"


@dataclass(frozen=True, slots=True)
class UtilityTerm:
    """A part of a utility: the column `of`, its weight, and its curve.

    A sigmoid has its `midpoint` (text, in the unit of the column) and `slope`. The other curves divide by `scale`.
    `better` is the user's direction of a column that has none of its own.
    """

    name: str
    of: str
    weight: float
    curve: Curve
    midpoint: str = ""
    slope: float = 0.0
    scale: float = 1.0
    better: Better | None = None


@dataclass(frozen=True, slots=True)
class LevelTerm:
    """Menasce and Ngo's part of a service level: weight, the parameters of its cost, and its least and most value."""

    weight: float
    alpha: float
    beta: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LevelProblem:
    """Menasce and Ngo's problem: the response time, throughput and availability of most utility within a budget."""

    budget: float
    response: LevelTerm
    throughput: LevelTerm
    availability: LevelTerm


@dataclass(frozen=True, slots=True)
class UtilityQuestion:
    """A utility file: terms with needs and a budget for one hour, or Menasce and Ngo's problem, or both."""

    terms: tuple[UtilityTerm, ...] = ()
    require: tuple[str, ...] = ()
    budget: Money | None = None
    levels: LevelProblem | None = None


@dataclass(frozen=True, slots=True)
class UtilityOption:
    """An offering: its utility and the part of each term, with the interval of plausible true values.

    `cost` is that of one hour, None if unknown. `meets` the needs by its values, None if a fact is missing. `best` is
    the share of plausible true values in which it is the best of those within the budget; None without launches.
    """

    key: OfferKey
    utility: float
    bounds: Bounds | None
    parts: tuple[float, ...]
    values: tuple[float, ...]
    cost: float | None
    within_budget: bool
    meets: bool | None
    best: float | None


@dataclass(frozen=True, slots=True)
class WeightRange:
    """Between which weights of a term the choice stays, the others in proportion; and what is chosen beyond."""

    name: str
    weight: float
    low: float
    high: float
    below: OfferKey | None
    above: OfferKey | None


@dataclass(frozen=True, slots=True)
class BudgetStep:
    """From which budget for one hour on an offering is the best, and what one more point of utility costs there."""

    budget: float
    key: OfferKey
    utility: float
    cost_per_point: float | None


@dataclass(frozen=True, slots=True)
class UtilityAnswer:
    """The offering of most utility within the budget, and what would change it; `choice` is None if there is none."""

    terms: tuple[UtilityTerm, ...]
    units: tuple[str, ...]
    budget: Money | None
    currency: str
    choice: UtilityOption | None
    options: tuple[UtilityOption, ...]
    weights: tuple[WeightRange, ...]
    steps: tuple[BudgetStep, ...]
    left_out: tuple[tuple[OfferKey, str], ...]
    simulated: bool = False
    notes: tuple[str, ...] = ()
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class LevelAnswer:
    """The service level of most utility: each part, what it costs and is worth, and the utility of more budget."""

    problem: LevelProblem
    response: float
    throughput: float
    availability: float
    utilities: tuple[float, float, float]
    costs: tuple[float, float, float]
    utility: float
    cost: float
    at_budgets: tuple[tuple[float, float], ...]
    sentence: str = ""
