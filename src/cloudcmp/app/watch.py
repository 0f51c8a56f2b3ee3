"""Watches services into folders of evidence, and shows what such folders hold."""

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cloudcmp.analysis.watch import summarise
from cloudcmp.app.evidence import Forged, evidence_in, is_evidence, signer_of
from cloudcmp.app.option_values import above_zero
from cloudcmp.errors import CheckFailed, CloudcmpError, Fault, UserMistake
from cloudcmp.model.untrusted_text import steering_character
from cloudcmp.model.watch import WatchListener, WatchSample, WatchTerms
from cloudcmp.model.watch_summary import WatchedFolder
from cloudcmp.store.signals import held_signals
from cloudcmp.units import parse_seconds

if TYPE_CHECKING:
    from cloudcmp.execute.watch.http_prober import HttpProber
    from cloudcmp.execute.watch.metrics import MetricsServer, WatchMetrics
    from cloudcmp.store.watch.log import EvidenceLog

LEAST_S = 1.0
"""The shortest interval between requests to a service of others; this computer's own may be asked more often."""
MOST_TIMEOUT_S = 10.0
DEFAULT_S = 7 * 86400.0
_LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|::1")
_LONGEST_URL = 2000
_JOIN_S = 0.5


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What is asked of a watch, as text; `where` is a URL, a study's file or its folder.

    `resume` is a folder whose watch goes on. `out` is the folder to write; `listen` an address for metrics. `for_` is
    None for as long as the watch in the folder was to last, and for 7 days if it is new.
    """

    where: str = ""
    every: str = "60 s"
    for_: str | None = None
    timeout: str | None = None
    expect: Sequence[str] = ()
    out: Path | None = None
    resume: Path | None = None
    listen: str | None = None


@dataclass(frozen=True, slots=True)
class _Observer:
    """Passes on what one watcher does to the user and to the metrics."""

    target: str
    listener: WatchListener
    metrics: "WatchMetrics"

    def sampled(self, sample: WatchSample, lines: int) -> None:
        self.metrics.sampled(self.target, sample, lines)
        self.listener.sampled(self.target, sample, lines)

    def signed(self, lines: int, sha256: str) -> None:
        self.metrics.signed(self.target, lines)
        self.listener.signed(self.target, lines, sha256)

    def note(self, text: str) -> None:
        self.listener.note(self.target, text)


def watch(asked: WatchRequest, listener: WatchListener, show: Callable[[list[WatchedFolder], bool], None]) -> None:
    """Watch until the time is over or a signal comes; then `show` what the folders hold.

    A signal ends the watch after a signed head; `show` is told so, and the signal is delivered once it returns. Raises
    UserMistake for what is asked, StudyBusy if another process watches into a folder, and StorageFault.
    """
    for_s = None if asked.for_ is None else above_zero("--for", asked.for_, parse_seconds, "60 s")
    folders = _folders(asked)
    address = None if asked.listen is None else _address(asked.listen)
    stop = threading.Event()
    logs = _opened(folders)
    try:
        probers = _probers(folders)

        def stop_all() -> None:
            stop.set()
            for prober in probers:
                prober.interrupt()

        with held_signals(stop_all) as received:
            watches = list(zip(folders.values(), logs, probers, map(partial(_length_s, for_s), logs), strict=True))
            _run(watches, address, stop, listener)
            for log in logs:
                log.close()
            show([shown(folder) for folder in folders], bool(received))
    finally:
        for log in logs:
            log.close()


def shown(folder: Path) -> WatchedFolder:
    """What a folder of evidence holds, checked from its first line to its last; raises as `evidence_in` does."""
    found = evidence_in(folder)
    return WatchedFolder(
        str(folder), summarise(found.signed, found.signed_gaps), found.lines, found.signed_lines, found.unsigned,
        found.unsigned_samples, found.unsigned_failed, found.heads, signer_of(found), found.head_sha256, found.starts,
        found.mends, len(found.steps), found.ended,
    )  # fmt: skip


def verify(folder: Path) -> list[WatchedFolder]:
    """What a folder of evidence, or each one in it, holds.

    Raises CheckFailed with a fault for each line and head that is not as it was written, UserMistake if there is no
    evidence, and StorageFault.
    """
    found: list[WatchedFolder] = []
    faults: list[Fault] = []
    for one in _inner(folder):
        try:
            found.append(shown(one))
        except Forged as forged:
            faults += forged.faults
    if faults:
        raise CheckFailed(*faults)
    return found


def _inner(folder: Path) -> list[Path]:
    """The folders of evidence in a folder, or itself; raises UserMistake if there is none."""
    inner = [] if is_evidence(folder) or not folder.is_dir() else sorted(filter(is_evidence, folder.iterdir()))
    if not inner and not is_evidence(folder):
        raise UserMistake.at(str(folder), "holds no evidence of a watch", "name the --out of a watch")
    return inner or [folder]


def _run(
    watches: "Sequence[tuple[WatchTerms, EvidenceLog, HttpProber, float]]",
    address: tuple[str, int] | None, stop: threading.Event, listener: WatchListener,
) -> None:  # fmt: skip
    """Watch each target in a thread of its own, for its seconds; raises the first fault once all have ended."""
    from cloudcmp.execute.watch.clock import SystemClock
    from cloudcmp.execute.watch.metrics import WatchMetrics
    from cloudcmp.execute.watch.watcher import Watcher

    metrics = WatchMetrics([terms.target for terms, *_ in watches], time.time())
    server = None if address is None else _serve(address, metrics, listener)
    faults: list[BaseException] = []

    def run(terms: WatchTerms, log: "EvidenceLog", prober: "HttpProber", for_s: float) -> None:
        observer = _Observer(terms.target, listener, metrics)
        try:
            Watcher(log, terms.every_s, for_s, prober, SystemClock(stop), observer, stop.is_set).run()
        except BaseException as fault:
            faults.append(fault)
            if not isinstance(fault, CloudcmpError):
                stop.set()

    threads = [threading.Thread(target=run, args=one, daemon=True) for one in watches]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for thread in threads:
            thread.join(_JOIN_S)  # short, so that signals are handled
    if server is not None:
        server.close()
    if faults:
        raise faults[0]


def _length_s(asked: float | None, log: "EvidenceLog") -> float:
    """For how long a watch lasts in all: as asked, else as it was asked when it started last, else a week."""
    start = log.latest.get("start")
    return asked or (None if start is None else start.number_of("for_s")) or DEFAULT_S


def _serve(address: tuple[str, int], metrics: "WatchMetrics", listener: WatchListener) -> "MetricsServer":
    from cloudcmp.execute.watch.metrics import MetricsServer

    try:
        server = MetricsServer(address, metrics)
    except OSError as error:
        what = f"{address[0]}:{address[1]} cannot be listened on ({(error.strerror or str(error)).lower()})"
        raise UserMistake.at("--listen", what, "give another port") from None
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    listener.listening(f"http://{host}:{server.port}/metrics")
    return server


def _opened(folders: "dict[Path, WatchTerms]") -> "list[EvidenceLog]":
    """The logs of all folders, with this user's key; none stays open if one cannot be opened."""
    from cloudcmp.agent.signatures import SigningKey
    from cloudcmp.store.user_key import signing_seed
    from cloudcmp.store.watch.log import EvidenceLog

    signer, logs = SigningKey(signing_seed()), []
    try:
        for folder, terms in folders.items():
            logs.append(EvidenceLog.open(folder, terms, signer, time.time()))
    except BaseException:
        for log in logs:
            log.close()
        raise
    return logs


def _probers(folders: "dict[Path, WatchTerms]") -> "list[HttpProber]":
    from cloudcmp.execute.watch.http_prober import HttpProber
    from cloudcmp.provider.common.authorities import trusted

    authorities = trusted()
    return [HttpProber(terms, authorities) for terms in folders.values()]


def _folders(asked: WatchRequest) -> dict[Path, WatchTerms]:
    """What is watched into which folder; a study's targets each have a folder in that of --out."""
    from cloudcmp.store.watch.log import terms_of

    if asked.resume is not None:
        if asked.where or asked.out is not None:
            raise UserMistake.at("--resume", "the folder says what is watched", "leave out the target and --out")
        return {folder: terms_of(folder) for folder in _inner(asked.resume)}
    if asked.out is None:
        raise UserMistake.at("--out", "a watch needs a folder for its evidence", "write e.g. --out watch-shop")
    targets = _targets(asked.where)
    terms = {name: _terms(target, asked) for name, target in targets.items()}
    return {asked.out / name if name else asked.out: one for name, one in terms.items()}


def _targets(where: str) -> dict[str, str]:
    """The URLs of a target by the names of their folders; a single URL has none."""
    if not where:
        raise UserMistake.at("", "nothing to watch", "name a URL such as https://example.com/, or a study")
    if "://" in where or not Path(where).exists():
        return {"": where}
    from cloudcmp.app.plan import known_providers
    from cloudcmp.provider.registry import billed_names
    from cloudcmp.store import StudyStore
    from cloudcmp.study import read

    if Path(where).is_dir():
        with StudyStore.open(Path(where), write=False) as store:
            candidates = [one.service for one in store.plan.candidates]
        found = [one.endpoint for one in candidates if one is not None and one.endpoint]
    else:
        study = read(Path(where), providers=known_providers(), billed=billed_names())
        found = [one.endpoint for one in study.candidates if one.endpoint]
    if not found:
        what = "none of its candidates has an endpoint with a URL"
        raise UserMistake.at(where, what, "name the URL itself, such as https://example.com/")
    return {re.sub(r"[^\w.-]+", "-", one.partition("://")[2]).strip("-"): one for one in dict.fromkeys(found)}


def _terms(target: str, asked: WatchRequest) -> WatchTerms:
    """The terms of a watch of a URL; raises UserMistake for each option that makes none."""
    host = _checked_host(target)
    every = above_zero("--every", asked.every, parse_seconds, "60 s")
    if every < LEAST_S and not _LOOPBACK.fullmatch(host):
        what = f"{asked.every!r} is too often for a service of others"
        raise UserMistake.at("--every", what, "ask at most once in a second")
    timeout = (
        min(every, MOST_TIMEOUT_S)
        if asked.timeout is None
        else above_zero("--timeout", asked.timeout, parse_seconds, "60 s")
    )
    if timeout > every:
        raise UserMistake.at("--timeout", "an answer may not take longer than --every", "give a shorter one")
    statuses = [one for one in asked.expect if re.fullmatch(r"\d{3}", one)]
    texts = [one for one in asked.expect if one not in statuses]
    if len(statuses) > 1 or len(texts) > 1 or not all(texts) or any(map(steering_character, texts)):
        what = "give at most one status, such as 200, and one text that is not empty"
        raise UserMistake.at("--expect", "it says nothing clear", what)
    return WatchTerms(target, every, timeout, int(statuses[0]) if statuses else None, texts[0] if texts else "")


def _checked_host(target: str) -> str:
    """The host of a URL; raises UserMistake for one that cannot be watched."""
    next_ = "write e.g. https://example.com/health"
    try:
        url = urlsplit(target)
        port = url.port
    except ValueError as error:
        raise UserMistake.at(target[:200], f"is no URL ({error})", next_) from None
    if url.scheme not in {"http", "https"} or not url.hostname or port == 0:
        raise UserMistake.at(target[:200], "is neither a URL of http or https, nor a study that is there", next_)
    if url.username is not None or url.password is not None:
        raise UserMistake.at("the URL", "holds a name or a password, which evidence would show to others", next_)
    if len(target) > _LONGEST_URL or not re.fullmatch(r"[!-~]+", target) or url.fragment:
        what = "may hold only ASCII without spaces, no #, and at most 2,000 characters"
        raise UserMistake.at(target[:200], what, "encode it, such as %20 for a space")
    return url.hostname


def _address(text: str) -> tuple[str, int]:
    """The host and port to listen on."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise UserMistake.at("--listen", f"{text!r} is no address with a port", "write e.g. 127.0.0.1:9464")
    return host.removeprefix("[").removesuffix("]"), int(port)
