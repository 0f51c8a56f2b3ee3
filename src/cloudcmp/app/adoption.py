"""Refuses studies that were made elsewhere, with a list of what a verb would do, or adopts them for this user."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cloudcmp.app.command_uses import commands
from cloudcmp.errors import Fault
from cloudcmp.execute.environment import work_of
from cloudcmp.model.lease import LeaseState
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provision.progress import lease_label
from cloudcmp.report.text import exact
from cloudcmp.store import MadeElsewhere, StudyStore

Say = Callable[[str], None]
Actions = Callable[[StudyStore], Iterable[str]]
"""Lists what a verb would do with a study, each as "end ...", "run ..."."""


def check_maker(folder: Path, actions: Actions, *, adopt: bool, say: Say, ending: bool = False) -> None:
    """Refuse a study that this user did not make here; with `adopt`, report its actions through `say` and adopt it.

    `ending` if the verb only ends what the study made. Raises MadeElsewhere with a line for each action, UserMistake if
    the folder holds no study, StorageFault, also if this user's key cannot be used, and CorruptStore.
    """
    with StudyStore.open(folder, write=False, ending=ending) as store:
        if store.made_here():
            return
        if store.key_fault is not None:  # the maker is unknown
            raise store.key_fault
        lines = [one_line(line) for line in actions(store)]
        refusal = MadeElsewhere.of(folder, store.version)
    if not adopt:
        raise MadeElsewhere(*refusal.faults, *(Fault("", f"it would {line}") for line in lines))
    say(f"{folder}: {refusal.faults[0].what}; it is adopted as yours")
    for line in lines:
        say(f"it will {line}")
    StudyStore.adopt(folder)


def teardown_actions(store: StudyStore) -> Iterator[str]:
    """Yield what a teardown would destroy if it has the study's tags, kill, and look for."""
    local = work_of(store).path / "launches"
    for one in store.readable_leases()[0]:
        if one.state is LeaseState.GONE:
            continue
        folder = f", the folder {local / (one.cloud_id or one.token)} and its processes"
        yield f"end {lease_label(one)}{folder if one.provider == 'local' else ''}, if it bears the tags of {store.tag}"
    for runner in sorted({*store.plan.drivers} - {"simulated"}):
        yield f"search {runner} for resources with the tags of {store.tag}, and end them"


def resume_actions(store: StudyStore) -> Iterator[str]:
    """Yield what resuming a study would end, create and run."""
    yield from teardown_actions(store)
    if store.plan.budget is not None:
        yield f"rent machines for up to {store.plan.budget.amount} {store.plan.budget.currency}"
    yield f"make test files in {work_of(store).path}"
    for use in commands(store.plan):
        for line in use.lines:
            yield f"run on {', '.join(use.on)}, as {line.kind} of {use.name}: {exact(line.text)}"


def bill_actions(store: StudyStore) -> Iterator[str]:
    """Yield what a reconciliation would look for in the bill."""
    ids = [one.cloud_id for one in store.leases() if one.cloud_id]
    yield f"look in the bill for the tag {store.tag}" + (f" and for {', '.join(ids)}" if ids else "")
