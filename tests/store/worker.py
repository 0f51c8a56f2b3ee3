"""A process that runs small studies in children which may be killed; started with `python -m tests.store.worker`.

Each line of standard input is a JSON object {folder, acks, crash_at, kill_after_s, file_limit, rounds}; the answer is
how the child ended: `done`, `killed` or `fault: ...`. The libraries are loaded once, before the children are forked.
"""

import json
import os
import resource
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401
import pyarrow.parquet  # noqa: F401
from tests.store.conftest import attempt_of, create, make_plan, samples_of

from cloudcmp.errors import CloudcmpError, UserMistake
from cloudcmp.model.lease import LeaseEvent, LeaseRow
from cloudcmp.model.trial import Outcome
from cloudcmp.store import StudyStore


def open_or_create(folder: Path, rounds: int) -> StudyStore:
    """The study in the folder; a folder that holds none yet is made anew, as a user would."""
    try:
        return StudyStore.open(folder, write=True)
    except UserMistake:
        shutil.rmtree(folder, ignore_errors=True)
        return create(folder, make_plan(rounds))


def run_study(folder: Path, acks: int, rounds: int) -> None:
    """Run what is left of the small study, and tell each acknowledgement through the descriptor `acks`."""

    def acknowledge(*what: object) -> None:
        os.write(acks, json.dumps(what).encode() + b"\n")

    with open_or_create(folder, rounds) as store:
        plan = store.plan
        store.interrupt_open(lambda trial: plan.start_at + plan.trials[trial].start_s + 1)
        for launch in plan.launches:
            left = [trial for trial in plan.trials_of(launch.index) if trial.index not in store.done()]
            slot = f"instance-{launch.index}"
            if not left:
                continue
            number = sum(row.slot == slot and row.event is LeaseEvent.INTENT for row in store.lease_rows())
            for event in (LeaseEvent.INTENT, LeaseEvent.CREATED):
                store.append_lease(lease_row(slot, number, event))
                acknowledge("lease", slot, number, event)
            store.begin_launch(launch.index, launch.start_s, slot)
            for trial in left:
                attempt = attempt_of(trial, store.next_attempt(trial.index), outcome_of(trial.index))
                store.begin_attempt(trial.index, attempt.attempt, attempt.started_at)
                done = store.finish_attempt(attempt, samples_of(trial) if attempt.outcome is Outcome.OK else [])
                acknowledge("trial", done.trial, done.attempt, done.sha256)
            store.end_launch(launch.index, launch.start_s + 30, "ok")
            for event in (LeaseEvent.DELETE_ASKED, LeaseEvent.GONE):
                store.append_lease(lease_row(slot, number, event))
                acknowledge("lease", slot, number, event)
        store.set_meta("ended", "yes")
        store.compact()


def outcome_of(trial: int) -> Outcome:
    """One of the trials fails every time."""
    return Outcome.FAILED if trial == 4 else Outcome.OK


def lease_row(slot: str, attempt: int, event: LeaseEvent) -> LeaseRow:
    """A row of the ledger for a launch's machine."""
    cloud_id = None if event is LeaseEvent.INTENT else f"id-{slot}"
    return LeaseRow(slot, attempt, event, "local", "here", "instance", slot, f"{slot}-{attempt}", 1.0, cloud_id)


def child(order: dict[str, Any], answer: int) -> None:
    """Run one order in this process and tell how it went."""
    if order.get("crash_at"):
        os.environ["CLOUDCMP_CRASH_AT"] = order["crash_at"]
    if order.get("file_limit"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_limit"], order["file_limit"]))
    acks = os.open(order["acks"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        run_study(Path(order["folder"]), acks, order.get("rounds", 1))
        os.write(answer, b"done")
    except CloudcmpError as error:
        os.write(answer, f"fault: {type(error).__name__}: {error}".encode())


def main() -> None:
    """Answer each order."""
    for line in sys.stdin:
        order = json.loads(line)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                child(order, write)
            finally:
                os._exit(0)
        os.close(write)
        if order.get("kill_after_s") is not None:
            time.sleep(order["kill_after_s"])
            os.kill(pid, signal.SIGKILL)
        said = b""
        while piece := os.read(read, 65536):
            said += piece
        os.close(read)
        _, status = os.waitpid(pid, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if killed and not said else said.decode() or f"status {status}", flush=True)


if __name__ == "__main__":
    main()
