"""What things cost: bills for what is used, money for a task, work for money. A price of zero or none is unknown."""

from cloudcmp.cost.account_terms import added_support
from cloudcmp.cost.bill import bill
from cloudcmp.cost.figures import is_task, price_of, with_cost, work_unit
from cloudcmp.cost.quote import Market, no_list, quoted, told_terms
from cloudcmp.cost.rates import given, rates

__all__ = [
    "Market",
    "added_support",
    "bill",
    "given",
    "is_task",
    "no_list",
    "price_of",
    "quoted",
    "rates",
    "told_terms",
    "with_cost",
    "work_unit",
]
