"""`watch` as a command: whole, killed, interrupted, verified by others, and with bad input."""

import re
import shutil
import signal
import socket
from pathlib import Path

import pytest

from tests.emulated.scripted_http import Scripted, scripted
from tests.evidence import appended, by_program

from .command import cloudcmp
from .watcher_process import WatcherProcess, killed


@pytest.fixture(scope="module")
def service():
    with scripted() as running:
        yield running


@pytest.fixture(scope="module")
def watched(service: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a short watch."""
    folder = tmp_path_factory.mktemp("watched") / "w"
    said = cloudcmp("watch", service.url(), "--every", "50ms", "--for", "1s", "--out", folder)
    assert said.code == 0, said.err
    return folder


def test_a_watch_shows_what_it_saw_and_its_evidence(service: Scripted, tmp_path: Path) -> None:
    # An answer may take as long as until the next one is asked for: a second, also on a busy machine.
    said = cloudcmp("watch", service.url(), "--every", "1s", "--for", "3s", "--out", tmp_path / "w", "--witness")
    assert said.code == 0, said.err
    heads = [line for line in said.out.splitlines() if line.startswith("head ")]
    assert len(heads) == 2
    assert re.search(r"good in (\d+) of \1 samples, 100.0 % \(", " ".join(said.out.split()))
    assert heads[-1].split()[2] in said.out.rpartition("EVIDENCE")[2]
    assert max(len(line) for line in said.out.splitlines() if not line.startswith("head ")) <= 80


def test_the_evidence_is_verified_by_the_command_and_by_the_program_beside_it(watched: Path) -> None:
    said = cloudcmp("watch", "--verify", watched)
    assert said.code == 0, said.err
    data = cloudcmp("watch", "--verify", watched, "--json").json["data"]["watched"][0]
    lines = data["lines"]
    assert (data["signed_lines"], data["ended"]) == (lines, "finished")
    assert f"all {lines} lines are as they were written and signed" in " ".join(said.out.split())
    done = by_program(watched)
    assert data["heads"] >= 2
    expected = f"{lines} chained lines, {data['heads']} heads; signed up to line {lines} by {data['signer']}"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, expected)


def test_a_flipped_bit_breaks_both(watched: Path, tmp_path: Path) -> None:
    shutil.copytree(watched, tmp_path / "w")
    path = tmp_path / "w" / "evidence.jsonl"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 4
    number = raw[: len(raw) // 2].count(b"\n") + 1
    path.write_bytes(raw)
    said = cloudcmp("watch", "--verify", tmp_path / "w")
    assert (said.code, said.out) == (1, "")
    assert f"evidence.jsonl:{number}: was changed" in said.err.splitlines()[0]
    assert said.err.rstrip().endswith("take a copy of the folder from before it was changed; this one proves nothing")
    done = by_program(tmp_path / "w")
    assert (done.returncode, f"BAD: evidence.jsonl: line {number} was changed" in done.stdout) == (1, True)


def test_a_kill_loses_nothing_stored_and_a_signal_ends_with_a_signed_head(service: Scripted, tmp_path: Path) -> None:
    toll = killed(service.url(), tmp_path / "w", 1, seed=7)
    assert (toll.told > 0, toll.lost) == (True, 0)
    watcher = WatcherProcess(service.url(), tmp_path / "w", "--every", "20ms")
    watcher.wait_for(3)
    two = cloudcmp("watch", service.url(), "--every", "20ms", "--out", tmp_path / "w")
    assert (two.code, "another process watches into this folder" in two.err) == (3, True)
    code, out, err = watcher.end(signal.SIGTERM)
    resume = f"interrupted; nothing stored is lost: 'cloudcmp watch --resume {tmp_path / 'w'}'"
    assert (code, resume in err.splitlines()) == (130, True)
    assert "goes on for the 59 min " in err
    data = cloudcmp("watch", "--verify", tmp_path / "w", "--json").json["data"]["watched"][0]
    assert (data["ended"], data["lines"], data["starts"]) == ("stopped", data["signed_lines"], 2)
    assert data["summary"]["n"] + data["unsigned_samples"] >= toll.told + 3
    assert data["summary"]["n"] >= 3
    assert f"{data['summary']['n']} samples" in " ".join(out.split())
    assert "BAD" not in by_program(tmp_path / "w").stdout
    resumed = cloudcmp("watch", "--resume", tmp_path / "w", "--for", "1ms")
    assert resumed.code == 0, resumed.err


def test_a_tail_that_nobody_signed_is_named_and_no_part_of_the_answer(watched: Path, tmp_path: Path) -> None:
    shutil.copytree(watched, tmp_path / "w")
    before = cloudcmp("watch", "--verify", watched, "--json").json["data"]["watched"][0]
    appended(tmp_path / "w", 40)
    said = cloudcmp("watch", "--verify", "w", cwd=tmp_path)
    signed = before["lines"]
    told = " ".join(said.out.split())
    assert said.code == 1
    assert told.startswith(
        f"w: signed up to line {signed}; lines {signed + 1} to {signed + 40} are chained only: anyone with the folder "
        "could have written them"
    )
    assert "40 samples are left out, of which 40 failed" in told
    data = cloudcmp("watch", "--verify", tmp_path / "w", "--json").json["data"]["watched"][0]
    assert data["unsigned"] == [{"first": signed + 1, "last": signed + 40}]
    assert (data["unsigned_samples"], data["unsigned_failed"]) == (40, 40)
    gaps = {"gaps": before["summary"]["gaps"] + 1, "gap_s": data["summary"]["gap_s"]}
    assert data["summary"] == before["summary"] | gaps
    assert gaps["gap_s"] > before["summary"]["gap_s"]


def test_a_watch_goes_on_for_what_is_left_of_its_time(watched: Path, tmp_path: Path) -> None:
    """Its second is over; without that it would watch for a week."""
    shutil.copytree(watched, tmp_path / "w")
    said = cloudcmp("watch", "--resume", tmp_path / "w")
    assert said.code == 0, said.err
    assert "its 1.0 s are over; --for makes it longer" in said.err


def test_a_service_that_is_down_from_the_start_is_a_result(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = cloudcmp("watch", f"http://127.0.0.1:{port}/", "--every", "100ms", "--for", "2s", "--out", tmp_path / "w")
    assert said.code == 0, said.err
    assert "good in 0 of " in said.out
    assert "refused" in said.err
    assert "Outages" in said.out


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["http://"], "http://: is neither a URL of http or https, nor a study that is there"),
        (["shop"], "shop: is neither a URL of http or https"),
        (["http://a.test:99999/"], "http://a.test:99999/: is no URL"),
        (["ftp://a.test/"], "ftp://a.test/: is neither a URL"),
        (["http://me:secret@a.test/"], "the URL: holds a name or a password"),
        (["http://a.test/a b"], "may hold only ASCII without spaces"),
        ([], "nothing to watch; name a URL"),
        (["http://a.test/", "--every", "0.5s"], "--every: '0.5s' is too often for a service of others"),
        (["http://a.test/", "--every", "often"], "--every: 'often' is not a number"),
        (["http://a.test/", "--for", "0 s"], "--for: '0 s' is not more than zero"),
        (["http://a.test/", "--every", "5s", "--timeout", "6s"], "--timeout: an answer may not take longer"),
        (["http://a.test/", "--expect", "200", "--expect", "201"], "--expect: it says nothing clear"),
        (["http://a.test/", "--listen", "9464"], "--listen: '9464' is no address with a port"),
        (["http://a.test/", "--resume", "x"], "--resume: the folder says what is watched"),
        (["http://a.test/", "--verify", "x"], "--verify: only reads a folder"),
        (["http://a.test/", "--witness", "--json"], "--witness: prints lines beside the document"),
        (["--passive"], "--port: a passive watch needs the port of the server"),
        (["--passive", "--port", "0"], "--port: a passive watch needs the port of the server"),
        (["--passive", "--port", "80", "--for", "2 days"], "--for: a passive watch looks from every 10 ms on"),
        (["--passive", "--port", "80", "--every", "soon"], "--every: 'soon' is not a number"),
        (["http://a.test/", "--passive", "--port", "80"], "--passive: does not go with the target"),
        (["http://a.test/", "--port", "80"], "--port: is the server's, with --passive"),
        (["study.yaml"], "study.yaml: none of its candidates has an endpoint with a URL"),
    ],
)
def test_bad_input_is_one_line(words: list[str], what: str, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "schema: 1\nquestion: which?\nprobes: [{probe: fma}]\ncandidates:\n"
        "  - {provider: simulated, region: nimbus, offering: small}\n",
        encoding="utf-8",
    )
    out = [] if {"--resume", "--verify", "--passive"} & set(words) else ["--out", "w"]
    said = cloudcmp("watch", *words, *out, cwd=tmp_path)
    assert (said.code, said.out) == (2, "") or "--json" in words
    assert what in said.err
    assert len(said.err.splitlines()) == 1
    assert not (tmp_path / "w").exists()


def test_a_folder_of_another_watch_and_one_of_something_else_are_refused(watched: Path, tmp_path: Path) -> None:
    said = cloudcmp("watch", "http://other.test/", "--out", watched)
    assert (said.code, "holds a watch with another target" in said.err) == (2, True)
    said = cloudcmp("watch", "http://other.test/")
    assert (said.code, "--out: a watch needs a folder" in said.err) == (2, True)
    (tmp_path / "mine.txt").touch()
    for words in (("http://other.test/", "--out", tmp_path), ("--verify", tmp_path), ("--resume", tmp_path)):
        said = cloudcmp("watch", *words)
        assert (said.code, len(said.err.splitlines())) == (2, 1), said.err


def test_a_study_with_endpoints_has_a_folder_for_each(service: Scripted, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "schema: 1\nquestion: which?\nprobes: [{probe: blob}]\ncandidates:\n"
        f"  - {{provider: s3, service: blob, endpoint: '{service.url('')}', from: local, name: a}}\n"
        f"  - {{provider: s3, service: blob, endpoint: 'http://localhost:{service.port}', from: local, name: b}}\n",
        encoding="utf-8",
    )
    said = cloudcmp("watch", "study.yaml", "--every", "1s", "--for", "3s", "--out", "w", cwd=tmp_path)
    assert said.code == 0, said.err
    assert len(list((tmp_path / "w").iterdir())) == 2
    assert said.out.count("100.0 %") >= 2
    assert cloudcmp("watch", "--verify", tmp_path / "w").out.count("as they were written and signed") == 2
