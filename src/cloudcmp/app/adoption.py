"""Studies that were made elsewhere: what acting on one would touch, and its adoption by this user."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cloudcmp.app.command_uses import commands
from cloudcmp.errors import Fault
from cloudcmp.execute.environment import work_of
from cloudcmp.model.lease import LeaseState
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.provision.progress import lease_label
from cloudcmp.report.exact_text import exact
from cloudcmp.store import MadeElsewhere, StudyStore

Say = Callable[[str], None]
Touches = Callable[[StudyStore], Iterable[str]]


def check_maker(folder: Path, touches: Touches, *, adopt: bool, say: Say, ending: bool = False) -> None:
    """Let a study be acted on if this user made it here; with `adopt` another one too, once `say` told what it touches.

    `ending` is for whoever only ends what the study made. Raises MadeElsewhere with a line for each thing that it would
    touch, UserMistake where the folder holds no study, StorageFault, also where this
    user's key cannot be used, and CorruptStore.
    """
    with StudyStore.open(folder, write=False, ending=ending) as store:
        if store.made_here():
            return
        if store.key_fault is not None:  # then nobody can tell whose it is
            raise store.key_fault
        lines = [one_line(line) for line in touches(store)]
        refusal = MadeElsewhere.of(folder, store.version)
    if not adopt:
        raise MadeElsewhere(*refusal.faults, *(Fault("", f"it would {line}") for line in lines))
    say(f"{folder}: {refusal.faults[0].what}; it is adopted as yours")
    for line in lines:
        say(f"it will {line}")
    StudyStore.adopt(folder)


def ends(store: StudyStore) -> Iterator[str]:
    """What the end of all that a study owns would look for, destroy if its own marks are on it, and kill."""
    local = work_of(store).path / "launches"
    for one in store.readable_leases()[0]:
        if one.state is LeaseState.GONE:
            continue
        folder = f", the folder {local / (one.cloud_id or one.token)} and its processes"
        yield f"end {lease_label(one)}{folder if one.provider == 'local' else ''}, if it bears the tags of {store.tag}"
    for runner in sorted({one.runner for one in store.plan.candidates if not one.simulated}):
        yield f"look at {runner} for whatever bears the tags of {store.tag}, and end it"


def runs(store: StudyStore) -> Iterator[str]:
    """What going on with a study would end, make and run."""
    yield from ends(store)
    if store.plan.budget is not None:
        yield f"rent machines for up to {store.plan.budget.amount} {store.plan.budget.currency}"
    yield f"make test files in {work_of(store).path}"
    for use in commands(store.plan):
        for line in use.lines:
            yield f"run on {', '.join(use.on)}, as {line.kind} of {use.name}: {exact(line.text)}"


def reads(store: StudyStore) -> Iterator[str]:
    """What holding a bill beside a study would look for in the bill."""
    ids = [one.cloud_id for one in store.leases() if one.cloud_id]
    yield f"look in the bill for the tag {store.tag}" + (f" and for {', '.join(ids)}" if ids else "")
