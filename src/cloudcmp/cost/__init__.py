"""What figures cost: money for a task, work for money. A price of zero or none is unknown, never free."""

from cloudcmp.cost.figures import is_task, price_of, with_cost, work_unit

__all__ = ["is_task", "price_of", "with_cost", "work_unit"]
