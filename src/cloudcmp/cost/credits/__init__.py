"""Credits of providers for downtime: the tables as data, and what a measured downtime pays."""

from cloudcmp.cost.credits.engine import credit_of, expected_credit
from cloudcmp.cost.credits.tables import credit_table, credit_tables
