"""The costs of a ledger's machines, updated row by row: the cost of an update does not depend on the ledger's length.

A machine that is gone has a fixed cost, which is added once. Only the open machines are counted again at each query.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from cloudcmp.model.lease import INSTANCE, Lease, LeaseEvent, LeaseRow
from cloudcmp.provision.ledger import Journal
from cloudcmp.provision.ledger_cost import EXACT, Charge, ExtraCosts, Key, Terms, charge_of, cost_of, is_unpriced

RowsFrom = Callable[[int], Sequence[LeaseRow]]
"""The rows of a ledger from a number on, in the order of writing."""


class RowLog:
    """A journal that caches its durable rows, which are read once when a study is opened."""

    def __init__(self, journal: Journal, rows: Iterable[LeaseRow]) -> None:
        self._journal = journal
        self._rows = list(rows)

    def append_lease(self, row: LeaseRow) -> None:
        """Writes one row, and caches it if that worked."""
        self._journal.append_lease(row)
        self._rows.append(row)

    def leases(self) -> tuple[Lease, ...]:
        """Returns the current state of each lease."""
        return self._journal.leases()

    def rows_from(self, number: int) -> Sequence[LeaseRow]:
        """Returns the rows from a number on."""
        return self._rows[number:]


class Tally:
    """The charges of all machines, and the exact cost of those that are gone; `aged` corrects the age of a charge."""

    def __init__(
        self, rows: RowsFrom, terms: Terms, currency: str, extras: ExtraCosts, aged: Callable[[Charge], Charge]
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
        """Reads the new rows; returns the keys of their machines. `now` in Unix seconds."""
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
        """Returns the number of a slot's last attempt, 0 if there is none."""
        return self._attempts.get(slot, 0)

    def open_count(self) -> int:
        """Returns how many machines may still exist."""
        return len(self._open)

    def open(self, now: float) -> Iterator[Charge]:
        """Yields the machines that may still exist."""
        return (self._aged(self._charge(key, now)) for key in self._open)

    def gone_cost(self) -> Decimal | None:
        """Returns the exact cost of all gone machines, times 3600; None if a price is unknown in the currency."""
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
        """Updates a machine from its rows: open, gone, or never created."""
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
