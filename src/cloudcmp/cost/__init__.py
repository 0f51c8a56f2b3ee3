"""Costs: bills for usage, cost per task, work per money. A missing price and a price of zero are both unknown."""

from cloudcmp.cost.account_terms import added_support
from cloudcmp.cost.figures import cost_per_request, price_of, with_cost, work_unit
from cloudcmp.cost.quote import Market, describe_terms, launch_costs, with_quote
from cloudcmp.cost.service_costs import break_even_per_hour, operation_figures
