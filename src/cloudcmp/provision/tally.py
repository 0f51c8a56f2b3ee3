"""The machines of a ledger on the bill, kept up to date row by row: a launch costs the same however long the ledger is.

A machine that is seen gone costs no more and no less from then on, so it is counted once; only those that may still be
there are counted at each question.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from cloudcmp.model.lease import INSTANCE, Lease, LeaseEvent, LeaseRow
from cloudcmp.provision.ledger import Journal
from cloudcmp.provision.ledger_cost import EXACT, Charge, ExtraCosts, Key, Terms, charge_of, cost_of, is_unpriced

RowsFrom = Callable[[int], Sequence[LeaseRow]]
"""The rows of a ledger from a number on, in the order in which they were written."""


class RowLog:
    """A journal that remembers the rows that are durable: they are read once, when a study is opened."""

    def __init__(self, journal: Journal, rows: Iterable[LeaseRow]) -> None:
        self._journal = journal
        self._rows = list(rows)

    def append_lease(self, row: LeaseRow) -> None:
        """Write one row; it is remembered only where that did not fail."""
        self._journal.append_lease(row)
        self._rows.append(row)

    def leases(self) -> tuple[Lease, ...]:
        """Each lease as its rows leave it."""
        return self._journal.leases()

    def rows_from(self, number: int) -> Sequence[LeaseRow]:
        """The rows from a number on."""
        return self._rows[number:]


class Tally:
    """The charges of all machines, and the exact cost of those that are gone; `aged` makes a charge as old as it is."""

    def __init__(
        self,
        rows: RowsFrom,
        terms: Terms,
        currency: str,
        extras: ExtraCosts,
        aged: Callable[[Charge], Charge],
    ) -> None:
        self._rows = rows
        self._terms = terms
        self._currency = currency
        self._extras = extras
        self._aged = aged
        self._read = 0
        self._by_key: dict[Key, list[LeaseRow]] = {}
        self._intents: dict[str, LeaseRow] = {}
        self._keys_of: dict[str, set[Key]] = {}
        self._attempts: dict[str, int] = {}
        self._changed: set[Key] = set()
        self._open: set[Key] = set()
        self._gone: dict[Key, Charge] = {}
        self._total = Decimal(0)
        self._unpriced = 0

    def read(self, now: float) -> frozenset[Key]:
        """Take in the rows that are new; the machines that they are of. `now` in Unix seconds."""
        for row in self._rows(self._read):
            self._read += 1
            self._attempts[row.slot] = max(row.attempt, self._attempts.get(row.slot, 0))
            if row.kind == INSTANCE:
                self._take(row)
        changed = frozenset(self._changed)
        self._changed.clear()
        for key in changed:
            self._settle(key, now)
        return changed

    def last_attempt(self, slot: str) -> int:
        """The number of a slot's last attempt, 0 where there is none."""
        return self._attempts.get(slot, 0)

    def open_count(self) -> int:
        """How many machines may still be there."""
        return len(self._open)

    def open(self, now: float) -> Iterator[Charge]:
        """The machines that may still be there."""
        return (self._aged(self._charge(key, now)) for key in self._open)

    def charges(self, now: float) -> tuple[Charge, ...]:
        """Every machine, as `counting.charges` has them."""
        return (*self._gone.values(), *self.open(now))

    def gone_cost(self) -> Decimal | None:
        """The exact cost of all that is gone, times 3600; None where a price is not known in the currency."""
        return None if self._unpriced else self._total

    def _take(self, row: LeaseRow) -> None:
        key = (row.slot, row.attempt)
        self._by_key.setdefault(key, []).append(row)
        self._keys_of.setdefault(row.token, set()).add(key)
        self._changed.add(key)
        if row.event is LeaseEvent.INTENT:
            self._intents[row.token] = row
            self._changed |= self._keys_of[row.token]

    def _settle(self, key: Key, now: float) -> None:
        """A machine as its rows leave it now: open, gone, or never there."""
        before = self._gone.pop(key, None)
        if before is not None:
            self._count(before, add=False)
        self._open.discard(key)
        if self._by_key[key][-1].event is LeaseEvent.REFUSED:
            return
        charge = self._charge(key, now)
        if charge.open:
            self._open.add(key)
        else:
            self._gone[key] = self._aged(charge)
            self._count(self._gone[key], add=True)

    def _charge(self, key: Key, now: float) -> Charge:
        rows = self._by_key[key]
        return charge_of(key, self._intents.get(rows[0].token, rows[0]), rows, now)

    def _count(self, charge: Charge, *, add: bool) -> None:
        if is_unpriced(charge, self._terms, self._currency):
            self._unpriced += 1 if add else -1
            return
        cost = cost_of(charge, self._terms, self._extras, worst=False)
        self._total = EXACT.add(self._total, cost) if add else EXACT.subtract(self._total, cost)
