"""What was really billed: bills of clouds read line by line, and set beside our own count."""

from cloudcmp.cost.billed.bill_comparison import Estimated, Leased, Reconciled, Side, State, reconcile_bill
from cloudcmp.cost.billed.fields import Kind
from cloudcmp.cost.billed.formats import Format
from cloudcmp.cost.billed.gather import Key, Wanted, read, spellings
