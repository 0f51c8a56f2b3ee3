"""Takes a sample of a service each interval, and writes what it saw, and when it did not look, to the evidence."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cloudcmp import __version__
from cloudcmp.errors import StorageFault
from cloudcmp.model.watch import WatchAnswer, WatchClock, WatchObserver, WatchProber, WatchSample
from cloudcmp.store.watch.lines import Line
from cloudcmp.store.watch.log import EvidenceLog
from cloudcmp.units import format_seconds

HEAD_S = 300.0
"""The time after which the lines so far are signed again."""
CHANGE_S, CHANGES = 10.0, 2
"""So many samples with which outages begin or end are signed at once in this time; others as soon as it is over."""
STEP_S = 0.1
"""The smallest change of the wall clock against the steady one that is a step, beyond `DRIFT`."""
DRIFT = 1e-3
"""What a clock may drift or be slewed in a second; time services slew by at most half of it."""
STOPPED, FINISHED = "stopped", "finished"


@dataclass(frozen=True, slots=True)
class _Mark:
    """A moment by both clocks, in seconds."""

    wall: float
    steady: float

    @property
    def offset(self) -> float:
        return self.wall - self.steady


class Watcher:
    """Watches one service into one folder of evidence until its time is over or it is stopped.

    Samples are taken at whole intervals from the start of this process. Where one comes more than one and a half
    intervals after the one before, as after a sleep of the computer, the time between is a gap. Does not look for the
    cause of a failure.
    """

    def __init__(
        self, log: EvidenceLog, every_s: float, for_s: float, prober: WatchProber, clock: WatchClock,
        observer: WatchObserver, is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._log, self._every_s, self._for_s = log, every_s, for_s
        self._prober, self._clock, self._observer = prober, clock, observer
        self._is_stopping = is_stopping
        self._mark = _Mark(*clock.now())
        self._head_due = -math.inf
        self._was_ok: bool | None = None
        self._change_is_unsigned = False
        self._changes_signed: deque[float] = deque([-math.inf] * CHANGES, maxlen=CHANGES)
        self._looked = self._mark
        self._gap = ""

    def run(self) -> str:
        """Watch; returns why it ended, `finished` or `stopped`, after a signed head.

        Raises StorageFault if the start or the end cannot be stored. A sample that cannot be stored between them is
        lost, and the time is recorded as a gap later.
        """
        end = self._start()
        why = self._samples(end)
        wall, steady = self._clock.now()
        self._note_step(wall, steady)
        self._log.append("stop", wall, mono=round(steady, 6), why=why)
        self._sign(wall)
        return why

    def _start(self) -> float:
        """Records that this process starts, and what happened since the last; returns its end on the steady clock."""
        wall, steady = self._clock.now()
        before, last = self._log.latest.get("start"), self._log.latest.get("sample")
        mark = _mark_of(self._log.latest.values())
        same_boot = before is not None and before.text_of("boot") == self._clock.boot
        if mark is not None and same_boot:
            self._mark = mark
            self._note_step(wall, steady)
        elif mark is not None and wall < mark.wall:
            self._log.append("clock", wall, step_s=None, before=mark.wall)
        if last is not None:
            since = last.number_of("mono") or 0.0
            elapsed = round(steady - since, 6) if same_boot else None
            self._log.append("gap", wall, **{"from": last.at}, why="not watched", elapsed_s=elapsed)
        found, signed = self._log.found, self._log.signed
        self._log.append("start", wall, mono=round(steady, 6), boot=self._clock.boot, for_s=self._for_s,
                         found=found, signed=signed, cloudcmp=__version__)  # fmt: skip
        self._mark = self._looked = _Mark(wall, steady)
        begun = wall if self._log.first is None else self._log.first.at
        left = self._for_s - max(0.0, wall - begun - self._log.stepped_s)
        if before is not None:
            self._note_resumed(left, found, signed)
        return steady + left

    def _note_resumed(self, left: float, found: int, signed: int) -> None:
        """Tells that the watch goes on for the seconds that are left, and what it found that nobody signed."""
        whole = format_seconds(self._for_s)
        self._observer.note(f"goes on for the {format_seconds(left)} that are left of {whole}" if left > 0 else
                            f"its {whole} are over; --for makes it longer")  # fmt: skip
        if signed < found:
            self._observer.note(f"{_lines(signed + 1, found)} not signed when this watch went on; anyone with the "
                                "folder could have written them, and claims leave them out")  # fmt: skip

    def _samples(self, end: float) -> str:
        due = self._clock.now()[1]
        while not self._is_stopping():
            if due >= end:
                return FINISHED
            self._clock.sleep_until(due)
            if self._is_stopping():
                break
            wall, steady = self._clock.now()
            if steady < due:
                continue
            if steady >= end:
                return FINISHED
            if steady - self._looked.steady > 1.5 * self._every_s:
                self._gap = self._gap or "late"
            answer = self._prober.probe()
            if answer is None:
                break
            self._keep(answer, wall, steady)
            steps = (self._clock.now()[1] - due) / self._every_s
            due += self._every_s * max(1, math.floor(steps) + (steps - math.floor(steps) > 0.5))
        return STOPPED

    def _keep(self, answer: WatchAnswer, wall: float, steady: float) -> None:
        """Stores a sample, after the gap and the step of the clock before it; then the observer may count it."""
        try:
            self._note_step(wall, steady)
            if self._gap:
                looked, elapsed = round(self._looked.wall, 6), round(steady - self._looked.steady, 6)
                self._log.append("gap", wall, **{"from": looked}, why=self._gap, elapsed_s=elapsed)
                self._gap = ""
            lines = self._log.append("sample", wall, mono=round(steady, 6), **_fields(answer))
            self._looked = _Mark(wall, steady)
            self._observer.sampled(WatchSample(wall, answer.ok, answer.response_s, answer.reason), lines)
            self._sign_if_due(answer.ok, wall, steady)
        except StorageFault as fault:
            if self._gap != "not stored":
                self._observer.note(f"{fault}; it is tried again with each sample")
            self._gap = "not stored"

    def _note_step(self, wall: float, steady: float) -> None:
        """Records a change of the wall clock against the steady one since the last line; keeps the new mark."""
        step = wall - steady - self._mark.offset
        if abs(step) > STEP_S + DRIFT * max(0.0, steady - self._mark.steady):
            self._log.append("clock", wall, mono=round(steady, 6), step_s=round(step, 6))
            self._observer.note(f"the clock of this computer was set by {step:+.3g} s")
        self._mark = _Mark(wall, steady)

    def _sign_if_due(self, ok: bool, wall: float, steady: float) -> None:
        """Sign every `HEAD_S`, and where an outage begins or ends: a watcher that dies leaves what it saw unsigned."""
        self._change_is_unsigned |= self._was_ok is not None and ok is not self._was_ok
        self._was_ok = ok
        is_early = self._change_is_unsigned and steady - self._changes_signed[0] >= CHANGE_S
        if steady < self._head_due and not is_early:
            return
        self._sign(wall)
        self._head_due = steady + HEAD_S
        if is_early:
            self._changes_signed.append(steady)
        self._change_is_unsigned = False

    def _sign(self, wall: float) -> None:
        digest = self._log.sign(wall)
        self._observer.signed(self._log.lines, digest)


def _lines(first: int, last: int) -> str:
    return f"line {first} was" if first == last else f"lines {first} to {last} were"


def _mark_of(lines: Iterable[Line]) -> _Mark | None:
    """The moment of the last of some lines that has both clocks; None if none has."""
    with_both = [one for one in lines if one.number_of("mono") is not None]
    if not with_both:
        return None
    last = max(with_both, key=lambda one: one.number)
    return _Mark(last.at, last.number_of("mono") or 0.0)


def _fields(answer: WatchAnswer) -> dict[str, object]:
    """The fields of a sample's line; what is not known is left out."""
    fields: dict[str, object] = {"ok": answer.ok}
    if answer.response_s is not None:
        fields["response_s"] = round(answer.response_s, 6)
    fields |= {name: value for name, value in (("reason", answer.reason), ("address", answer.address)) if value}
    if answer.status is not None:
        fields["status"] = answer.status
    if answer.size_bytes is not None:
        fields["bytes"] = answer.size_bytes
    return fields | {f"{name}_s": round(seconds, 6) for name, seconds in answer.phases}
