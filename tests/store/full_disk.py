"""Fills a tiny disk under a study and says what then happens; for a mount namespace of its own."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.store.conftest import TOTALS, attempt_of, create, run_trial, samples_of
from tests.store.worker import lease_row

from cloudcmp.errors import CloudcmpError
from cloudcmp.model.lease import LeaseEvent
from cloudcmp.store import StudyStore
from cloudcmp.store.files import RESERVE_FILE


def attempt(what: str, step: Callable[[], object]) -> None:
    """Do a step and say how it went."""
    try:
        step()
        print(what, "done")
    except CloudcmpError as error:
        print(what, type(error).__name__, str(error).partition(": ")[2])


def fill(path: Path) -> None:
    """Leave no free byte on the disk of a path."""
    with path.open("wb") as file:
        for size in (65536, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)
                    file.flush()
        with suppress(OSError):
            file.close()


def main(disk: Path) -> None:
    """Run the steps on an empty disk of some MiB."""
    store = create(disk / "study")
    first, second, third, *_ = store.plan.trials
    run_trial(store, first)
    store.begin_attempt(second.index, 0, 0.0)
    store.append_lease(lease_row("slot", 0, LeaseEvent.INTENT))
    fill(disk / "junk")
    attempt("finish", lambda: store.finish_attempt(attempt_of(second), samples_of(second)))
    for number in range(200):  # the log has some room left in its last page
        with suppress(CloudcmpError):
            store.begin_attempt(10_000 + number, 0, 0.0)
    attempt("begin", lambda: store.begin_attempt(third.index, 0, 0.0))
    attempt("intent", lambda: store.append_lease(lease_row("other", 0, LeaseEvent.INTENT)))
    attempt("asked", lambda: store.append_lease(lease_row("slot", 0, LeaseEvent.DELETE_ASKED)))
    attempt("gone", lambda: store.append_lease(lease_row("slot", 0, LeaseEvent.GONE)))
    print("reserve", (store.folder / RESERVE_FILE).exists())
    attempt("create", lambda: create(disk / "second"))
    print("second", (disk / "second").exists())
    print("done", sorted(store.done()), store.measured(TOTALS).values.value.tolist())
    store.close()
    attempt("open", lambda: StudyStore.open(store.folder, write=True).close())
    (disk / "junk").unlink()
    with StudyStore.open(store.folder, write=True) as again:
        again.interrupt_open(lambda _: 1.0)
        run_trial(again, second)
        print("done", sorted(again.done()), again.measured(TOTALS).values.value.tolist())
        print("reserve", (store.folder / RESERVE_FILE).exists(), [lease.state.value for lease in again.leases()])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(0)
