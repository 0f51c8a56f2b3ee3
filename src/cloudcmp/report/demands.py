"""The demands of a program as the file that `predict` reads, and as a table."""

from collections.abc import Iterator

from rich.console import Console

from cloudcmp.model.demands import Counter, Figure, ProgramDemands
from cloudcmp.report.numbers import UNKNOWN
from cloudcmp.report.table import Head, say, table
from cloudcmp.units import format_quantity

FIRST_LINE = "# The demands of a program, measured by: cloudcmp profile"
_THREADS = 5
_WORDS = {
    Counter.ELAPSED: "elapsed time",
    Counter.USER: "processor time, user",
    Counter.SYSTEM: "processor time, system",
    Counter.WAITED: "waited for a processor, all threads",
    Counter.BLOCKED: "blocked: no thread could run",
    Counter.MEMORY: "peak resident memory",
    Counter.READ: "read from disks",
    Counter.WRITTEN: "written to disks",
    Counter.READS: "read calls",
    Counter.WRITES: "write calls",
    Counter.RECEIVED: "received, whole machine",
    Counter.SENT: "sent, whole machine",
    Counter.VOLUNTARY: "context switches, voluntary",
    Counter.INVOLUNTARY: "context switches, involuntary",
    Counter.INSTRUCTIONS: "instructions",
    Counter.CYCLES: "cycles",
    Counter.CACHE_MISSES: "misses of the last cache",
}


def show_demands(console: Console, found: ProgramDemands) -> None:
    """Print what a program took, with its interval, and what could not be read."""
    many = "one run" if found.runs == 1 else f"{found.runs} runs"
    say(console, f"{found.name}: {many} on {found.home} ({found.cpu_model or 'an unknown processor'})", "bold")
    say(console, "")
    rows = [[_WORDS[one.counter], _figure(one.mean, one), _interval(one)] for one in found.figures]
    note = f"n = {found.runs}, mean of the runs, Student's interval" if found.runs > 1 else "n = 1"
    table(console, ["demand", Head("mean"), Head("95 % interval")], rows, note=note)
    say(console, "")
    busiest = ", ".join(f"{one.name} {one.cpu_s:.3g} s" for one in found.threads[:_THREADS] if one.cpu_s > 0)
    say(console, f"threads seen: {len(found.threads)}; busiest: {busiest or UNKNOWN}")
    say(console, f"processor time by threads that could run at once: {', '.join(_shares(found))}")
    if found.unseen_s > 0:
        say(console, f"processor time of threads that were never seen: {found.unseen_s:.2g} s")
    for one in found.missing:
        say(console, f"missing: {', '.join(_WORDS[counter] for counter in one.counters)}: {one.why}", "yellow")
    for text in found.cautions:
        say(console, f"mind: {text}", "yellow")


def _figure(value: float, one: Figure) -> str:
    return format_quantity(value, one.unit) if one.unit else f"{value:,.0f}"


def _interval(one: Figure) -> str:
    if one.bounds is None:
        return UNKNOWN
    return f"{_figure(one.bounds.low, one)} to {_figure(one.bounds.high, one)}"


def _shares(found: ProgramDemands) -> Iterator[str]:
    for many, share in found.parallel:
        yield f"{many}: {share * 100:.1f} %"


def demands_text(found: ProgramDemands) -> str:
    """Return the demands as an application's file; what is missing is a comment, never a zero."""
    return "\n".join((*_lines(found), ""))


def _lines(found: ProgramDemands) -> Iterator[str]:
    yield FIRST_LINE
    yield "# Predict it on the candidates of studies with: cloudcmp predict THIS-FILE STUDY..."
    yield "schema: 1"
    yield f"application: {_quoted(found.name)}"
    yield f"# Where it ran: {_one_line(found.cpu_model) or 'an unknown processor'}"
    place = f"provider: {found.home.provider}, region: {found.home.region}, offering: {_quoted(found.home.name)}"
    yield f"home: {{{place}}}"
    yield "program:"
    yield f"  command: [{', '.join(map(_quoted, found.command))}]"
    yield f"  runs: {found.runs}"
    yield from (f"  {line}" for line in _counters(found))
    for one in found.missing:
        yield f"  # missing: {', '.join(counter.value for counter in one.counters)}: {one.why}"


def _counters(found: ProgramDemands) -> Iterator[str]:
    yield f"elapsed: {_seconds(found, Counter.ELAPSED)}"
    yield f"cpu: {{user: {_seconds(found, Counter.USER)}, system: {_seconds(found, Counter.SYSTEM)}}}"
    shares = ", ".join(f"{many}: {share:.6f}" for many, share in found.parallel)
    yield f"parallel: {{{shares}}}"
    for counter in (Counter.WAITED, Counter.BLOCKED):
        if found.mean(counter) is not None:
            yield f"{counter.value}: {_seconds(found, counter)}"
    if found.mean(Counter.MEMORY):
        yield f"memory: {_bytes(found, Counter.MEMORY)}"
    yield from _group(found, "disk", Counter.READ, Counter.WRITTEN, Counter.READS, Counter.WRITES)
    yield from _group(found, "network", Counter.RECEIVED, Counter.SENT)
    yield from _group(found, "switches", Counter.VOLUNTARY, Counter.INVOLUNTARY)
    for counter in (Counter.INSTRUCTIONS, Counter.CYCLES, Counter.CACHE_MISSES):
        if (value := found.mean(counter)) is not None:
            yield f"{counter.value}: {value:.0f}"


def _group(found: ProgramDemands, name: str, *counters: Counter) -> Iterator[str]:
    known = [one for one in found.figures if one.counter in counters]
    if known:
        yield f"{name}: {{{', '.join(f'{one.counter.value}: {_exact(one)}' for one in known)}}}"


def _exact(one: Figure) -> str:
    return f"{one.mean:.0f} B" if one.unit == "B" else f"{one.mean:.0f}"


def _seconds(found: ProgramDemands, counter: Counter) -> str:
    return f"{found.mean(counter) or 0.0:.6f} s"


def _bytes(found: ProgramDemands, counter: Counter) -> str:
    return f"{found.mean(counter) or 0.0:.0f} B"


def _quoted(text: str) -> str:
    """A text in YAML's double quotes."""
    inner = "".join(_escaped(one) for one in text)
    return f'"{inner}"'


def _escaped(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    return one if one.isprintable() and ord(one) < 0x10000 else f"\\U{ord(one):08x}"


def _one_line(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
