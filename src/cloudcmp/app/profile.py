"""Runs the user's own program on this machine and returns its demands, from which `predict` works."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath

from cloudcmp.errors import UserMistake
from cloudcmp.execute.program.hardware_counters import find_perf
from cloudcmp.execute.program.run import LOOK_S, run_program
from cloudcmp.model.demands import Counter, Figure, Missing, ProgramDemands, ProgramRun
from cloudcmp.model.market import OfferKey
from cloudcmp.model.result import Bounds
from cloudcmp.owned_folder import FOR_ALL, OwnedPath, write_whole
from cloudcmp.provider.local.machine import read_machine
from cloudcmp.report.demands import FIRST_LINE, demands_text
from cloudcmp.stats.describe import mean, t_interval
from cloudcmp.store.output_files import check_replaceable

_MOST_RUNS = 1000
_BUSY = 0.10
_SHORT_S = 50 * LOOK_S


def profile(
    command: Sequence[str], *, runs: int = 1, name: str | None = None, say: Callable[[str], None] = lambda _: None
) -> ProgramDemands:  # fmt: skip
    """Run a program `runs` times, one after the other, and return what it took of this machine.

    Raises UserMistake if it cannot be started or fails in any run: the demands of a failed run are not the program's.
    """
    if not command:
        raise UserMistake.at("profile", "no command is named", "write: cloudcmp profile -- ./mine --its-options")
    if not 1 <= runs <= _MOST_RUNS:
        raise UserMistake.at("--runs", f"{runs} is not between 1 and {_MOST_RUNS}", "write e.g. --runs 3")
    perf = find_perf()
    done: list[ProgramRun] = []
    for at in range(runs):
        say(f"run {at + 1} of {runs}")
        run = run_program(command, perf)
        if run.code:
            how = f"ended by signal {-run.code}" if run.code < 0 else f"exit code {run.code}"
            raise UserMistake.at(
                command[0], f"run {at + 1} failed, {how}", "correct the command: a failed run has no demands"
            )
        done.append(run)
    machine = read_machine(os.sched_getaffinity(0))
    return ProgramDemands(
        name=name or PurePath(command[0]).name,
        command=tuple(command),
        home=OfferKey("local", "local", f"{machine.usable_cpus}cpu"),
        cpus=machine.usable_cpus,
        cpu_model=machine.cpu_model or "",
        runs=runs,
        figures=tuple(_figures(done)),
        threads=done[-1].threads,
        parallel=_parallel(done),
        unseen_s=mean([one.unseen_s for one in done]),
        missing=_missing(done),
        cautions=tuple(_cautions(done)),
    )


def check_target(out: Path) -> None:
    """Raise UserMistake if the demands cannot be written to a path: before a long program runs, not after it."""
    check_replaceable(out, "application's demands", _is_ours)


def write(found: ProgramDemands, out: Path) -> None:
    """Write the demands as an application's file, whole or not at all; replaces only such a file."""
    check_target(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with OwnedPath(out.parent).folder() as folder:
        write_whole(folder, out.name, demands_text(found).encode(), FOR_ALL)


def _is_ours(head: bytes) -> bool:
    return head.startswith(FIRST_LINE.encode())


def _figures(done: Sequence[ProgramRun]) -> Iterator[Figure]:
    """Yield a figure of each counter that every run has."""
    runs = [dict(one.counters) for one in done]
    for counter in Counter:
        values = [one[counter] for one in runs if counter in one]
        if len(values) == len(runs):
            found = t_interval(values)
            bounds = None if found is None else Bounds(max(0.0, found.low), found.high)
            yield Figure(counter, mean(values), bounds, len(values))


def _parallel(done: Sequence[ProgramRun]) -> tuple[tuple[int, float], ...]:
    total: dict[int, float] = {}
    for run in done:
        for many, share in run.parallel:
            total[many] = total.get(many, 0.0) + share / len(done)
    return tuple(sorted(total.items()))


def _missing(done: Sequence[ProgramRun]) -> tuple[Missing, ...]:
    return tuple(dict.fromkeys(one for run in done for one in run.missing))


def _cautions(done: Sequence[ProgramRun]) -> Iterator[str]:
    runs = [dict(one.counters) for one in done]
    cpu = mean([one[Counter.USER] + one[Counter.SYSTEM] for one in runs])
    elapsed = mean([one[Counter.ELAPSED] for one in runs])
    waited = mean([one.get(Counter.WAITED, 0.0) for one in runs])
    if cpu > 0 and waited > _BUSY * cpu:
        yield (f"its threads waited {waited:.2g} s for a processor: more threads than processors, or other work on "
               "this machine, which makes the elapsed time too long")  # fmt: skip
    if elapsed < _SHORT_S:
        yield f"it ended in less than {_SHORT_S:g} s: few looks at its threads; a longer input gives surer demands"
    if len(done) == 1:
        yield "one run has no interval: --runs 3 gives one"
