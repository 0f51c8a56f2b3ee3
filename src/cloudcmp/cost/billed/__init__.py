"""Bills of clouds, read line by line, and their comparison with our own estimate."""

from cloudcmp.cost.billed.bill_comparison import (
    BillComparison,
    ComparedLine,
    EstimatedCost,
    LeasedMachine,
    State,
    reconcile_bill,
)
from cloudcmp.cost.billed.fields import Kind
from cloudcmp.cost.billed.formats import Format
from cloudcmp.cost.billed.gather import Key, StudyMarks, read, spellings
