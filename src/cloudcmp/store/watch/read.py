"""Reads a folder of evidence: checks every line and every signed head, and returns samples, gaps and clock steps."""

import hashlib
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.watch import ClockStep, Evidence, Gap, LineSpan, Watched, WatchSample, WatchTerms
from cloudcmp.store.faults import storage
from cloudcmp.store.watch.heads import FOLDER, SIGNERS, Head, read_heads, read_signers
from cloudcmp.store.watch.lines import Line, LineFault, chain

FILE = "evidence.jsonl"
NEXT = "take a copy of the folder from before it was changed; this one proves nothing"

NOT_SIGNED = "not signed"

IsSigned = Callable[[bytes, bytes, str], bool]
"""True if a message has a signature of a public key."""


class Forged(UserMistake):
    """A folder of evidence is not as its watcher wrote it; each fault names a line."""


@dataclass(slots=True)
class Contents:
    """What the lines so far hold; samples and gaps with the number of their line.

    `starts` are the lines at which a watcher started, each with the number of lines that it found.
    """

    terms: WatchTerms | None = None
    key: str = ""
    samples: list[tuple[int, WatchSample]] = field(default_factory=list)
    gaps: list[tuple[int, Gap]] = field(default_factory=list)
    steps: list[ClockStep] = field(default_factory=list)
    lines: int = 0
    starts: list[tuple[int, int]] = field(default_factory=list)
    mends: int = 0
    ended: str = ""


def is_evidence(folder: Path) -> bool:
    """True if a folder holds evidence."""
    return (folder / FILE).is_file()


def read_evidence(folder: Path, is_signed: IsSigned) -> Evidence:
    """The evidence in a folder; `is_signed` judges signatures.

    An incomplete last line was never acknowledged, and is left out. Raises UserMistake if there is no evidence, Forged
    with a fault for each line and head that is not as it was written, and StorageFault.
    """
    if not is_evidence(folder):
        raise UserMistake.at(str(folder), f"holds no evidence: it has no {FILE}", "name the --out of a watch")
    heads = list(read_heads(folder))
    found, digests, faults = _read_lines(folder, {head.lines for _, head in heads if head is not None})
    faults += _signer_faults(folder, found)
    faults += [fault for path, head in heads if (fault := _head_fault(path, head, found, digests, is_signed))]
    last = max((head for _, head in heads if head), key=lambda head: head.lines, default=None)
    signed = 0 if last is None else last.lines
    if not faults and signed > found.lines:
        what = f"has {found.lines} good lines, and line {signed} was signed: lines were cut off"
        faults = [Fault(f"{folder / FILE}:{found.lines + 1}", what, NEXT)]
    if found.terms is None and not faults:
        faults = [Fault(str(folder / FILE), "has no first line", NEXT)]
    if not heads and not faults:
        faults = [Fault(str(folder / FOLDER), "holds no signed head: nothing says who wrote the evidence", NEXT)]
    if faults or found.terms is None:
        raise Forged(*faults)
    unsigned = unsigned_spans(found.starts, [head.lines for _, head in heads if head], found.lines)
    apart = {number for span in unsigned for number in range(span.first, span.last + 1)}
    left_out = _left_out(found.samples, apart, found.terms.every_s)
    return Evidence(
        found.terms, _watched(found.terms, found.samples), _watched(found.terms, found.samples, apart, left_out),
        tuple(gap for _, gap in found.gaps), _signed_gaps(found.gaps, apart, left_out), unsigned, tuple(found.steps),
        found.lines, signed, len(heads), "" if last is None else last.sha256, found.key, len(found.starts),
        found.mends, found.ended,
    )  # fmt: skip


def unsigned_spans(starts: Iterable[tuple[int, int]], heads: Sequence[int], lines: int) -> tuple[LineSpan, ...]:
    """The lines that no watcher signed which wrote them: those after the last head, and those that a watcher found.

    `starts` are the lines at which a watcher started, each with the number of lines that it found; `heads` the numbers
    of lines that are signed, of `lines` in all. A head after a start says of lines between the head before and the
    start only that they were found, since anyone with the folder could have added them while no watcher ran.
    """
    ends = {max((head for head in heads if head < start), default=0): min(found, start - 1) for start, found in starts}
    ends[max(heads, default=0)] = lines
    return tuple(LineSpan(head + 1, last) for head, last in sorted(ends.items()) if head < last)


def _watched(
    terms: WatchTerms, samples: Iterable[tuple[int, WatchSample]], apart: Container[int] = (),
    left_out: tuple[tuple[float, float], ...] = (),
) -> Watched:  # fmt: skip
    """The samples whose lines are not among those `apart`, which leave out these spans of time."""
    kept = tuple(sample for number, sample in samples if number not in apart)
    return Watched(terms.target, terms.every_s, kept, left_out)


def _left_out(
    samples: Sequence[tuple[int, WatchSample]], apart: Container[int], every_s: float
) -> tuple[tuple[float, float], ...]:
    """The times that samples `apart` stand for: from the first of each run of them until the next other sample.

    The last run ends an interval after its last sample, if no other sample follows. Where times of its lines are not
    between those of the samples around it, a run begins with the one before.
    """
    found: list[tuple[float, float]] = []
    runs = [(is_apart, [one.at for _, one in run]) for is_apart, run in groupby(samples, lambda one: one[0] in apart)]
    for at, (is_apart, times) in enumerate(runs):
        if is_apart:
            before = runs[at - 1][1][-1] if at else times[0]
            end = runs[at + 1][1][0] if at + 1 < len(runs) else max(before, times[-1]) + every_s
            found.append((times[0] if before <= times[0] <= end else min(before, end), end))
    return tuple(found)


def _signed_gaps(
    gaps: Iterable[tuple[int, Gap]], apart: Container[int], left_out: Sequence[tuple[float, float]]
) -> tuple[Gap, ...]:
    """The gaps in lines that are not `apart`, and the times left out, with what nobody watched within them."""
    kept = [gap for number, gap in gaps if number not in apart
            and not any(start <= gap.end <= end for start, end in left_out)]  # fmt: skip
    found = [*kept, *(Gap(start, end, NOT_SIGNED) for start, end in left_out)]
    return tuple(sorted(found, key=lambda one: one.start))


def read_for_claims(folder: Path, is_signed: IsSigned) -> Evidence:
    """The evidence in a folder, for claims about its samples.

    Raises as `read_evidence` does, and UserMistake if the watcher's clock was set by more than one interval: it is not
    known which of its times are right.
    """
    found = read_evidence(folder, is_signed)
    for step in found.steps:
        if step.step_s is None or abs(step.step_s) > found.terms.every_s:
            size = "backwards" if step.step_s is None else f"by {step.step_s:+.6g} s"
            what = f"the watcher's clock was set {size} there, so no window of time is known across it"
            raise UserMistake.at(f"{folder / FILE}:{step.line}", what, "watch anew, with a clock that keeps time")
    return found


def _read_lines(folder: Path, wanted: set[int]) -> tuple[Contents, dict[int, str], list[Fault]]:
    """What the lines hold, the digests of the first `wanted` lines, and the fault of the first bad line."""
    path, found, whole, digests = folder / FILE, Contents(), hashlib.sha256(), {}
    incomplete = False

    def seen(number: int, raw: bytes) -> None:
        nonlocal incomplete
        whole.update(raw)
        incomplete = not raw.endswith(b"\n")
        if number in wanted:
            digests[number] = whole.hexdigest()

    with storage(path), path.open("rb") as file:
        try:
            for line in chain(file, seen):
                add_line(found, line)
        except LineFault as fault:
            number = fault.args[1] if len(fault.args) > 1 else found.lines + 1
            if incomplete and not file.read(1) and number not in wanted:
                return found, digests, []
            return found, digests, [Fault(f"{path}:{number}", str(fault.args[0]), NEXT)]
    return found, digests, []


def add_line(found: Contents, line: Line) -> None:
    """Adds what a line says; raises LineFault for one that no watcher writes."""
    if (line.number == 1) != (line.kind == "begin"):
        raise LineFault("is no first line, or the first line of another watch")
    kinds = {"begin": _begin, "start": _start, "sample": _sample, "gap": _gap, "clock": _clock, "mend": _mend,
             "stop": _stop}  # fmt: skip
    if line.kind not in kinds:
        raise LineFault(f"is of the unknown kind {line.kind[:20]!r}")
    if line.kind != "stop":
        found.ended = ""
    kinds[line.kind](found, line)
    found.lines = line.number


def _begin(found: Contents, line: Line) -> None:
    every, timeout, status = (line.number_of(key) for key in ("every_s", "timeout_s", "status"))
    if not every or not timeout or every <= 0 or timeout <= 0 or line.number_of("v") != 1:
        raise LineFault("is no first line that this version of cloudcmp reads")
    found.key = line.text_of("key")
    code = None if status is None else int(status)
    found.terms = WatchTerms(line.text_of("target"), every, timeout, code, line.text_of("text"))


def _start(found: Contents, line: Line) -> None:
    _steady(line)
    line.text_of("boot")
    before = line.number_of("found")
    # Line 1 is written by the watcher that starts in line 2. Without the field all lines count as found.
    found.starts.append((line.number, line.number - 1 if before is None and line.number > 2 else int(before or 0)))


def _steady(line: Line) -> None:
    """Raises LineFault for a line without a time of the steady clock."""
    if line.number_of("mono") is None:
        raise LineFault("lacks the time of the steady clock")


def _sample(found: Contents, line: Line) -> None:
    ok, response, size = line.fields.get("ok"), line.number_of("response_s"), line.number_of("bytes")
    if not isinstance(ok, bool) or (response is not None and response < 0) or (ok and response is None):
        raise LineFault("is no sample: ok is true or false, with the seconds of a whole answer")
    if size is not None and size < 0:
        raise LineFault("is no sample: its bytes are below zero")
    _steady(line)
    found.samples.append((line.number, WatchSample(line.at, ok, response, line.text_of("reason"), size)))


def _gap(found: Contents, line: Line) -> None:
    start = line.number_of("from")
    if start is None:
        raise LineFault("is a gap without a beginning")
    found.gaps.append((line.number, Gap(start, line.at, line.text_of("why"), line.number_of("elapsed_s"))))


def _clock(found: Contents, line: Line) -> None:
    found.steps.append(ClockStep(line.number, line.at, line.number_of("step_s")))


def _mend(found: Contents, _line: Line) -> None:
    found.mends += 1


def _stop(found: Contents, line: Line) -> None:
    _steady(line)
    found.ended = line.text_of("why")


def _signer_faults(folder: Path, found: Contents) -> list[Fault]:
    """A fault if the file of signers names another key than the first line."""
    if not found.key or read_signers(folder) == found.key:
        return []
    return [Fault(str(folder / SIGNERS), "does not name the key of the first line, and that alone", NEXT)]


def _head_fault(
    path: Path, head: Head | None, found: Contents, digests: dict[int, str], is_signed: IsSigned
) -> Fault | None:
    """The fault of a signed head; None if it is what was signed, and the lines, if they are there, those it names."""
    where = str(path)
    if head is None:
        return Fault(where, "is no head that cloudcmp wrote, or has another name", NEXT)
    if found.key and head.key != found.key:
        return Fault(where, "is signed with another key than the first line names", NEXT)
    if not is_signed(head.text, head.signature, head.key):
        return Fault(where, "has a signature that does not verify: it, or the head, was changed or forged", NEXT)
    if digests.get(head.lines, head.sha256) != head.sha256:
        what = f"the lines up to here are not those that were signed in {FOLDER}/{path.name}"
        return Fault(f"{path.parent.parent / FILE}:{head.lines}", what, NEXT)
    return None
