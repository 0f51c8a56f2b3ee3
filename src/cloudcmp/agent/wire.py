"""The decoder of an agent's output, which is untrusted until the whole stream has been checked."""

import hashlib
import ipaddress
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cloudcmp.agent.job import LINE_BYTES_MAX, ExpectedSeries, SeriesKey
from cloudcmp.model.frames import PROTOCOL_VERSION
from cloudcmp.model.trial import Outcome, Sample, TrialResult
from cloudcmp.model.untrusted_text import lines, one_line
from cloudcmp.model.values import LARGEST_VALUE

_NOTE_KEY = re.compile(r"[a-z][a-z0-9_]{0,63}")
_ENDINGS = {outcome.value: outcome for outcome in Outcome if outcome is not Outcome.PREEMPTED}
_JOINED_MAX = 4096
_OUTPUTS = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one stream; `total_bytes` also bounds the memory of its samples (about three times that)."""

    line_bytes: int = LINE_BYTES_MAX
    frames: int = 1_000_000
    total_bytes: int = 32 * 2**20
    notes: int = 256
    text_chars: int = 1_200_000


class Decoder:
    """Decodes the bytes of one agent, cut anywhere, into a TrialResult; never raises because of their content.

    `expected` are the only accepted series (`expected_series`); `deadline_s` bounds their times; `read_histogram`
    raises ValueError for an unreadable histogram. With `listens`, the agent is a server that reports its address; with
    `prints`, it may report the output of a command.
    """

    def __init__(
        self,
        expected: Mapping[SeriesKey, ExpectedSeries],
        deadline_s: float,
        read_histogram: Callable[[str], object],
        *,
        listens: bool = False,
        prints: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self._expected = expected
        self._deadline_s = deadline_s
        self._read_histogram = read_histogram
        self._listens = listens
        self._prints = prints
        self._limits = limits or Limits()
        self._rest = bytearray()
        self._bytes = 0
        self._digest = hashlib.sha256()
        self._seq = 0
        self._last_t_s: dict[SeriesKey, float] = {}
        self._samples: list[Sample] = []
        self._hello: dict[str, object] = {}
        self._notes: dict[str, str | float | int | bool] = {}
        self._n_notes = 0
        self._texts: dict[str, list[str]] = {}
        self._n_chars = 0
        self._error = ""
        self._outcome: Outcome | None = None
        self.address: str | None = None
        self.fault: str | None = None

    @property
    def ended(self) -> bool:
        """True if a valid end record arrived."""
        return self._outcome is not None and self.fault is None

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples so far; empty if the stream was invalid."""
        return tuple(self._samples)

    @property
    def texts(self) -> dict[str, str]:
        """The command's outputs by name, cleaned; empty if the stream was invalid."""
        return {name: lines("".join(pieces)) for name, pieces in self._texts.items()}

    def feed(self, data: bytes) -> None:
        """Decodes the next bytes. After the first fault, stored in `fault`, all data is dropped."""
        if self.fault is not None:
            return
        self._bytes += len(data)
        try:
            if self._bytes > self._limits.total_bytes:
                raise BadFrame(f"the stream is longer than {self._limits.total_bytes} bytes")
            self._take(data)
        except BadFrame as bad:
            self._forget(str(bad))

    def result(self, cut: tuple[Outcome, str] | None = None) -> TrialResult:
        """The result of the stream. `cut` is the outcome and reason if reading stopped before its end."""
        if self.fault is None and self._outcome is None:
            if cut is not None:
                return TrialResult(cut[0], (), cut[1], self._facts())
            self._forget("the stream ended without an end record")
        if self.fault is None and self._rest:
            self._forget("there are bytes after the end record")
        if self.fault is not None or self._outcome is None:
            return TrialResult(Outcome.INVALID, (), self.fault or "")
        if self._outcome is not Outcome.OK:
            return TrialResult(self._outcome, (), self._error or f"the agent says {self._outcome}", self._facts())
        given = self._last_t_s
        missing = [series for key, series in self._expected.items() if not (series.sparse or key in given)]
        if missing:
            name = f"{missing[0].metric} {missing[0].params}".strip()
            return TrialResult(Outcome.INVALID, (), f"the agent says ok, but gave nothing for {name}")
        return TrialResult(Outcome.OK, tuple(self._samples), "", self._facts())

    def _forget(self, fault: str) -> None:
        self.fault = fault
        self._samples.clear()
        self._texts.clear()
        self._rest.clear()

    def _facts(self) -> str:
        return json.dumps({**self._hello, "notes": self._notes}, sort_keys=True, separators=(",", ":"))

    def _take(self, data: bytes) -> None:
        """Splits the bytes into lines; keeps an incomplete line for the next bytes."""
        lines = data.split(b"\n")
        if len(lines) > 1:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest.clear()
            for line in lines[:-1]:
                self._line(line)
        self._rest += lines[-1]
        if len(self._rest) >= self._limits.line_bytes:
            raise BadFrame(f"frame {self._seq}: is longer than {self._limits.line_bytes} bytes")

    def _line(self, line: bytes) -> None:
        if self._outcome is not None:
            raise BadFrame("there are bytes after the end record")
        if self._seq >= self._limits.frames:
            raise BadFrame(f"there are more than {self._limits.frames} frames")
        if len(line) >= self._limits.line_bytes:
            raise BadFrame(f"frame {self._seq}: is longer than {self._limits.line_bytes} bytes")
        try:
            self._frame(parse_frame(line, self._seq))
        except BadFrame as bad:
            raise BadFrame(f"frame {self._seq}: {bad}") from bad
        self._seq += 1
        self._digest.update(line)
        self._digest.update(b"\n")

    def _frame(self, frame: dict[str, object]) -> None:
        kind = frame.get("type")
        if (kind == "hello") is not (self._seq == 0):
            raise BadFrame("hello must come first, and once")
        match kind:
            case "hello":
                self._on_hello(frame)
            case "ready":
                self._on_ready(frame)
            case "note":
                self._on_note(frame)
            case "sample":
                self._on_sample(frame)
            case "hist":
                self._on_hist(frame)
            case "text":
                self._on_text(frame)
            case "error":
                self._error = self._error or "; ".join(filter(None, (text_of(frame, "what"), text_of(frame, "next"))))
            case "end":
                self._on_end(frame)
            case _:
                raise BadFrame("is of no known type")

    def _on_hello(self, frame: dict[str, object]) -> None:
        clock = facts_of(frame, "clock")
        if any(number_of(clock, key) < 0 for key in ("resolution_s", "cost_s")):
            raise BadFrame("the clock's resolution or cost is negative")
        self._hello = {
            "version": text_of(frame, "version", 64),
            "target": text_of(frame, "target", 64),
            "host": facts_of(frame, "host"),
            "clock": clock,
        }

    def _on_ready(self, frame: dict[str, object]) -> None:
        if not self._listens or self.address is not None:
            raise BadFrame("says ready where nothing should listen, or twice")
        self.address = _address(text_of(frame, "addr", 64))

    def _on_note(self, frame: dict[str, object]) -> None:
        self._n_notes += 1
        key, value = frame.get("key"), scalar_of(frame, "value")
        if type(key) is not str or not _NOTE_KEY.fullmatch(key):
            raise BadFrame("the note's key is not a plain word")
        if self._n_notes > self._limits.notes:
            raise BadFrame(f"there are more than {self._limits.notes} notes")
        earlier = self._notes.get(key)
        self._notes[key] = value if earlier is None or earlier == value else f"{earlier}; {value}"[:_JOINED_MAX]

    def _on_sample(self, frame: dict[str, object]) -> None:
        series, t_s = self._series(frame, histogram=False)
        value = number_of(frame, "value")
        if not series.signed and value <= 0:
            raise BadFrame(f"{series.metric} cannot be {value:g}")
        self._samples.append(Sample(len(self._samples), series.metric, series.params, t_s, value, None))

    def _on_hist(self, frame: dict[str, object]) -> None:
        series, t_s = self._series(frame, histogram=True)
        text = frame.get("hist")
        if type(text) is not str:
            raise BadFrame("hist is not text")
        try:
            self._read_histogram(text)
        except ValueError as error:
            raise BadFrame("the histogram cannot be read") from error
        self._samples.append(Sample(len(self._samples), series.metric, series.params, t_s, None, text))

    def _on_text(self, frame: dict[str, object]) -> None:
        name, text = frame.get("name"), frame.get("text")
        if not self._prints:
            raise BadFrame("tells an output where no command runs")
        if type(name) is not str or name not in _OUTPUTS or type(text) is not str:
            raise BadFrame("is no text of an output that is known")
        self._n_chars += len(text)
        if self._n_chars > self._limits.text_chars:
            raise BadFrame(f"the outputs are longer than {self._limits.text_chars} characters")
        self._texts.setdefault(name, []).append(text)

    def _series(self, frame: dict[str, object], *, histogram: bool) -> tuple[ExpectedSeries, float]:
        """The series of a frame, and its time, both checked."""
        metric, params = frame.get("metric"), frame.get("params")
        if type(metric) is not str or type(params) is not dict:
            raise BadFrame("metric or params is missing")
        if any(type(item) is not str for item in params.values()):
            raise BadFrame("params are not all text")
        key = (metric, tuple(sorted(params.items())))
        series = self._expected.get(key)
        if series is None or series.histogram is not histogram:
            given = one_line(f"{metric} {';'.join(f'{name}={item}' for name, item in key[1])}", 120)
            raise BadFrame(f"gives {given}, which this trial does not measure")
        t_s, last_s = number_of(frame, "t_s"), self._last_t_s.get(key, 0.0)
        if not last_s <= t_s <= self._deadline_s or (series.total and t_s == last_s):
            raise BadFrame(f"its time {t_s:g} s is not between {last_s:g} s and the deadline {self._deadline_s:g} s")
        self._last_t_s[key] = t_s
        return series, t_s

    def _on_end(self, frame: dict[str, object]) -> None:
        outcome = frame.get("outcome")
        if type(outcome) is not str or outcome not in _ENDINGS:
            raise BadFrame("ends with no known outcome")
        if type(frame.get("count")) is not int or frame["count"] != len(self._samples):
            raise BadFrame(f"does not count the {len(self._samples)} samples that came")
        if frame.get("sha256") != self._digest.hexdigest():
            raise BadFrame("the digest is not that of the bytes that came")
        self._outcome = _ENDINGS[outcome]


def _address(text: str) -> str:
    """An `ip:port` (IPv6 in brackets) of a single host; raises BadFrame for anything else."""
    host, _, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError as error:
        raise BadFrame("addr is not ip:port") from error
    if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65536 or address.is_unspecified:
        raise BadFrame("addr is not ip:port")
    return text


_DEPTH_MAX = 6
_ITEMS_MAX = 512
_TEXT_MAX = 4096
_INTEGER_MAX = 1 << 64


class BadFrame(Exception):
    """A line violates the protocol; its text describes the fault without quoting the line."""


def parse_frame(line: bytes, seq: int) -> dict[str, object]:
    """The frame of a line; raises BadFrame unless it is a JSON object of this protocol with the number `seq`."""
    try:
        frame = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object)
    except BadFrame:
        raise
    except (ValueError, RecursionError) as error:
        raise BadFrame("is not a line of JSON in UTF-8") from error
    if type(frame) is not dict:
        raise BadFrame("is not a JSON object")
    if type(frame.get("v")) is not int or frame["v"] != PROTOCOL_VERSION:
        raise BadFrame(f"does not say protocol version {PROTOCOL_VERSION}")
    if type(frame.get("seq")) is not int or frame["seq"] != seq:
        raise BadFrame(f"does not carry sequence number {seq}")
    return frame


def _refuse_constant(name: str) -> object:
    raise BadFrame(f"holds {name}")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadFrame("holds a key twice")
    return fields


def number_of(frame: Mapping[str, object], key: str) -> float:
    """A number below `LARGEST_VALUE`; raises BadFrame for anything else, such as true, text, or 1e999."""
    value = frame.get(key)
    if type(value) is not float and type(value) is not int:
        raise BadFrame(f"{key} is not a number")
    try:
        number = float(value)
    except OverflowError as error:
        raise BadFrame(f"{key} is too large") from error
    if not math.isfinite(number):
        raise BadFrame(f"{key} is not finite")
    if abs(number) >= LARGEST_VALUE:
        raise BadFrame(f"{key} is too large")
    return number


def text_of(frame: Mapping[str, object], key: str, limit: int = 200) -> str:
    """A cleaned text; raises BadFrame if it is missing."""
    value = frame.get(key)
    if type(value) is not str:
        raise BadFrame(f"{key} is not text")
    return one_line(value, limit)


def facts_of(frame: Mapping[str, object], key: str) -> dict[str, object]:
    """An object of facts, every text in it cleaned; raises BadFrame for another type, or if too deep or too long."""
    value = frame.get(key)
    if type(value) is not dict:
        raise BadFrame(f"{key} is not an object")
    return {one_line(str(name), 64): _fact(item, 1) for name, item in _few(value).items()}


def scalar_of(frame: Mapping[str, object], key: str) -> str | float | int | bool:
    """A text, number or truth value; raises BadFrame for anything else."""
    value = _fact(frame.get(key), 1)
    if isinstance(value, str | float | int):
        return value
    raise BadFrame(f"{key} is no text, number or truth value")


def _fact(value: object, depth: int) -> object:
    if depth > _DEPTH_MAX:
        raise BadFrame("facts are nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return one_line(value, _TEXT_MAX)
    if isinstance(value, dict):
        return {one_line(str(name), 64): _fact(item, depth + 1) for name, item in _few(value).items()}
    if isinstance(value, list):
        if len(value) > _ITEMS_MAX:
            raise BadFrame(f"more than {_ITEMS_MAX} facts in a list")
        return [_fact(item, depth + 1) for item in value]
    if isinstance(value, int | float) and abs(value) < _INTEGER_MAX:
        return value
    raise BadFrame("a fact is not a usable number")


def _few(facts: dict[str, object]) -> dict[str, object]:
    if len(facts) > _ITEMS_MAX:
        raise BadFrame(f"more than {_ITEMS_MAX} facts in an object")
    return facts
