"""What a watcher has seen since it started, as OpenMetrics, and the server that others scrape it from."""

import socket
import socketserver
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler

from cloudcmp.model.watch import WatchSample

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper ends of the histogram's buckets, in seconds; the last one has no end."""
_Row = tuple[str, str, float]
"""A sample of a family: the suffix of its name, its labels, its value."""


class TargetMetrics:
    """Counts the acknowledged samples of one target; a request that gave no whole answer is in no bucket."""

    def __init__(self, target: str) -> None:
        self.label = f'target="{_escaped(target)}"'
        self.outcomes: Counter[str] = Counter({"ok": 0})
        self.buckets = [0] * (len(BOUNDS_S) + 1)
        self.sum_s = 0.0
        self.last: WatchSample | None = None
        self.lines = self.signed_lines = 0

    def sampled(self, sample: WatchSample, lines: int) -> None:
        """Count a sample that is stored in the last of `lines` lines."""
        self.outcomes["ok" if sample.ok else sample.reason] += 1
        if sample.response_s is not None:
            self.buckets[sum(sample.response_s > bound for bound in BOUNDS_S)] += 1
            self.sum_s += sample.response_s
        self.last, self.lines = sample, lines

    def signed(self, lines: int) -> None:
        """The first `lines` lines are signed."""
        self.lines = self.signed_lines = lines


class WatchMetrics:
    """What the watchers of this process have seen, by target, as OpenMetrics 1.0.0.

    Counters begin at zero with this process, at `begun` in seconds since 1970, and say so in `_created`.
    """

    def __init__(self, targets: Iterable[str], begun: float) -> None:
        self._targets = {target: TargetMetrics(target) for target in targets}
        self._begun = begun
        self._lock = threading.Lock()

    def sampled(self, target: str, sample: WatchSample, lines: int) -> None:
        """Count a sample of a target that is stored in the last of `lines` lines."""
        with self._lock:
            self._targets[target].sampled(sample, lines)

    def signed(self, target: str, lines: int) -> None:
        """The first `lines` lines of a target's evidence are signed."""
        with self._lock:
            self._targets[target].signed(lines)

    def text(self) -> str:
        """All metrics as OpenMetrics text."""
        with self._lock:
            found = self._targets.values()
            asked = [one for one in found if one.last is not None]
            lines = [
                *_family("requests", "counter", "Requests that are stored, by outcome.", map(self._requests, found)),
                *_family("response_seconds", "histogram", "Time until the end of a whole answer.",
                         map(self._responses, found)),
                *_family("last_request_timestamp_seconds", "gauge", "When the last stored request began.",
                         ([("", one.label, one.last.at)] for one in asked if one.last)),
                *_family("up", "gauge", "1 if the last request was answered as expected, else 0.",
                         ([("", one.label, int(one.last.ok))] for one in asked if one.last)),
                *_family("evidence_lines", "gauge", "Lines of evidence that are stored.",
                         ([("", one.label, one.lines)] for one in found)),
                *_family("signed_lines", "gauge", "Lines of evidence that a signed head covers.",
                         ([("", one.label, one.signed_lines)] for one in found)),
                "# EOF",
            ]  # fmt: skip
        return "".join(f"{line}\n" for line in lines)

    def _requests(self, one: TargetMetrics) -> Iterator[_Row]:
        for outcome, number in sorted(one.outcomes.items()):
            labels = f'{one.label},outcome="{_escaped(outcome)}"'
            yield "_total", labels, number
            yield "_created", labels, self._begun

    def _responses(self, one: TargetMetrics) -> Iterator[_Row]:
        count = 0
        for bound, number in zip((*map(str, BOUNDS_S), "+Inf"), one.buckets, strict=True):
            count += number
            yield "_bucket", f'{one.label},le="{bound}"', count
        yield "_count", one.label, count
        yield "_sum", one.label, one.sum_s
        yield "_created", one.label, self._begun


def _family(name: str, kind: str, help_: str, targets: Iterable[Iterable[_Row]]) -> Iterator[str]:
    """The lines of a metric family: what it is, then its samples."""
    full = f"cloudcmp_watch_{name}"
    yield f"# TYPE {full} {kind}"
    if name.endswith("_seconds"):
        yield f"# UNIT {full} seconds"
    yield f"# HELP {full} {help_}"
    for rows in targets:
        for suffix, labels, value in rows:
            yield f"{full}{suffix}{{{labels}}} {value}"


class MetricsServer:
    """Serves the metrics of a watcher at /metrics of an address, in threads of its own, until it is closed."""

    def __init__(self, address: tuple[str, int], metrics: WatchMetrics) -> None:
        """Listens at an address; raises OSError."""

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                if self.path.partition("?")[0] != "/metrics":
                    self.send_error(404)
                    return
                body = metrics.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET

            def handle_error(self, *_: object) -> None:
                """Ignore a reader that goes away."""

        self._server = Server(address, Handler)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.2,), daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _escaped(text: str) -> str:
    """A label's value (OpenMetrics, section 3.2.2 `escaped-string`)."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
