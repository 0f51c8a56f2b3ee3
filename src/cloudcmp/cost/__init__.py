"""What things cost: bills for what is used, money for a task, work for money. A price of zero or none is unknown."""

from cloudcmp.cost.account_terms import added_support
from cloudcmp.cost.figures import is_task, price_of, with_cost, work_unit
from cloudcmp.cost.quote import Market, quoted, told_terms
