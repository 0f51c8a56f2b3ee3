"""Evidence of a watch: nothing acknowledged is lost, and every change of it is found and named."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence import START, TERMS, by_program, faults, judge, opened, signer

from cloudcmp.errors import CorruptStore, StorageFault, StudyBusy, UserMistake
from cloudcmp.model.watch import WatchTerms
from cloudcmp.store.watch import lines
from cloudcmp.store.watch.lines import LineFault
from cloudcmp.store.watch.log import EvidenceLog, terms_of
from cloudcmp.store.watch.read import FILE, read_evidence, read_for_claims

VALUES = st.one_of(st.booleans(), st.integers(-(2**40), 2**40), st.floats(-1e9, 1e9), st.text(max_size=50), st.none())
NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8).filter(
    lambda key: key not in {"n", "prev", "kind", "at", "sum"}
)


@given(st.dictionaries(NAMES, VALUES, max_size=5), st.integers(1, 10**6), st.floats(0, 4e9))
def test_a_line_is_read_as_it_was_written(fields: dict[str, object], number: int, at: float) -> None:
    raw = lines.encode(number, "a" * 64, "sample", at, fields)
    line = lines.decode(raw, number, "a" * 64)
    assert (line.number, line.kind, dict(line.fields)) == (number, "sample", fields)
    assert abs(line.at - at) <= 1e-6


@given(st.binary(max_size=200))
def test_other_bytes_are_no_line(raw: bytes) -> None:
    with pytest.raises(LineFault):
        lines.decode(raw, 1, lines.NO_LINE)


def test_whole_evidence_is_read_by_both(evidence: Path) -> None:
    found = read_evidence(evidence, judge)
    assert (found.lines, found.signed_lines, found.heads, found.starts, found.ended) == (15, 15, 2, 1, "finished")
    assert found.terms == TERMS
    assert [one.at for one in found.watched.samples] == [START + 60.0 * number for number in range(12)]
    assert (found.unsigned, found.signed) == ((), found.watched)
    assert read_for_claims(evidence, judge) == found
    done = by_program(evidence)
    assert (done.returncode, done.stdout.rpartition(":")[0]) == (
        0,
        "15 chained lines, 2 heads; signed up to line 15 by SHA256",
    )


def test_the_documented_commands_verify_a_head(evidence: Path) -> None:
    head = evidence / "heads/000000015"
    verify = ["ssh-keygen", "-Y", "verify", "-f", "allowed_signers", "-I", "watcher", "-n", "cloudcmp-watch", "-s"]
    subprocess.run([*verify, f"{head}.sig"], input=head.read_bytes(), cwd=evidence, check=True, capture_output=True)
    shown = subprocess.run("head -n 15 evidence.jsonl | sha256sum", shell=True, cwd=evidence, check=True,
                           capture_output=True, text=True)  # fmt: skip
    assert f"sha256 {shown.stdout.split()[0]}\n" in head.read_text(encoding="ascii")


def test_every_flipped_bit_is_found_by_our_reader_and_named(copy: Path) -> None:
    """Every bit of one line, and one of every 23rd byte of all."""
    path = copy / FILE
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    for at in range(len(whole)):
        number = sum(end < at for end in ends) + 1
        for bit in range(8) if number == 3 else range(at % 8, at % 8 + (at % 23 == 0)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            assert (said := faults(copy)), (at, bit)
            assert f"{FILE}:{number}:" in said[0], (at, bit, said)


@pytest.mark.parametrize("name", ["heads/000000008", "heads/000000008.sig", "heads/000000015.sig", "allowed_signers"])
def test_a_flipped_bit_in_what_is_signed_is_found(name: str, copy: Path) -> None:
    path = copy / name
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        assert (said := faults(copy)), at
        assert Path(name).stem in said[0]


def edited(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        raw = (folder / FILE).read_bytes().splitlines(keepends=True)
        (folder / FILE).write_bytes(b"".join(change(raw)))

    return edit


def rewritten(raw: list[bytes]) -> list[bytes]:
    """A slow sample made fast, by somebody who writes its own digest anew."""
    content = json.loads(raw[4]) | {"response_s": 0.001}
    kept = {key: value for key, value in content.items() if key not in {"n", "prev", "kind", "at", "sum"}}
    raw[4] = lines.encode(content["n"], content["prev"], content["kind"], content["at"], kept)
    return raw


def rechained(raw: list[bytes]) -> list[bytes]:
    """The same, with every later line written anew as well."""
    raw = rewritten(raw)
    for at in range(5, len(raw)):
        content = json.loads(raw[at])
        kept = {key: value for key, value in content.items() if key not in {"n", "prev", "kind", "at", "sum"}}
        raw[at] = lines.encode(content["n"], lines.digest(raw[at - 1]), content["kind"], content["at"], kept)
    return raw


def forged_head(folder: Path) -> None:
    """A head that somebody else signed, of lines that were chained anew."""
    edited(rechained)(folder)
    text = (folder / "heads/000000015").read_bytes()
    (folder / "heads/000000015.sig").write_bytes(signer(b"x" * 32).sign(text, "cloudcmp-watch"))


def flipped(raw: list[bytes], at: int = 2) -> list[bytes]:
    """One bit of a line changed."""
    raw[at] = raw[at][:100] + bytes([raw[at][100] ^ 1]) + raw[at][101:]
    return raw


FORGERIES = {
    "a flipped bit": (edited(flipped), "{FILE}:3: was changed"),
    "a cut tail": (edited(lambda raw: raw[:-3]), "{FILE}:13: has 12 good lines, and line 15 was signed"),
    "half a line": (lambda folder: os.truncate(folder / FILE, (folder / FILE).stat().st_size - 9), "{FILE}:15"),
    "a removed line": (edited(lambda raw: raw[:5] + raw[6:]), "{FILE}:6: is the line that was written as number 7"),
    "reordered lines": (edited(lambda raw: [*raw[:5], raw[6], raw[5], *raw[7:]]), "{FILE}:6: is the line"),
    "a repeated line": (edited(lambda raw: [*raw[:6], raw[5], *raw[6:]]), "{FILE}:7: is the line that was"),
    "a rewritten line": (edited(rewritten), "{FILE}:6: does not follow line 5"),
    "a rewritten chain": (edited(rechained), "{FILE}:8: the lines up to here are not those that were signed"),
    "a forged signature": (forged_head, "000000015: has a signature that does not verify"),
    "an empty file": (edited(lambda raw: []), "{FILE}:1: has 0 good lines, and line 15 was signed"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_named_with_its_line_and_by_the_second_program_too(name: str, copy: Path) -> None:
    forge, expected = FORGERIES[name]
    forge(copy)
    said = faults(copy)
    assert any(expected.replace("{FILE}", FILE) in one for one in said), said
    done = by_program(copy)
    assert done.returncode == 1, done.stdout
    assert "BAD: " in done.stdout
    with pytest.raises(UserMistake):
        read_for_claims(copy, judge)


def test_an_unsigned_tail_that_is_cut_cannot_be_told(copy: Path) -> None:
    """What the chain does not prove: a head and all after it removed look like a watch that went no further."""
    for name in ("heads/000000015", "heads/000000015.sig"):
        (copy / name).unlink()
    edited(lambda raw: raw[:8])(copy)
    assert not faults(copy)
    assert by_program(copy).returncode == 0


def test_evidence_that_nobody_signed_is_none(copy: Path) -> None:
    shutil.rmtree(copy / "heads")
    assert "holds no signed head" in faults(copy)[0]
    assert "there is no signed head" in by_program(copy).stdout
    (copy / FILE).unlink()
    done = by_program(copy, copy / "verify.py")
    assert (done.returncode, done.stdout.partition(" holds")[0], done.stderr) == (1, f"BAD: {copy}", "")


def cut(folder: Path, keep: int) -> None:
    """Leave this many bytes of the evidence, and only the first head."""
    for name in ("heads/000000015", "heads/000000015.sig"):
        (folder / name).unlink()
    os.truncate(folder / FILE, keep)


def test_a_torn_last_line_is_cut_off_kept_and_the_watch_goes_on(evidence: Path, tmp_path: Path) -> None:
    raw = (evidence / FILE).read_bytes().splitlines(keepends=True)
    start = sum(map(len, raw[:9]))
    for kept in range(1, len(raw[9]), 20):
        folder = tmp_path / str(kept)
        shutil.copytree(evidence, folder)
        cut(folder, start + kept)
        log = opened(folder, START + 900)
        assert log.lines == 10
        log.append("start", START + 900, mono=1.0, boot="b")
        log.close()
        said = json.loads((folder / FILE).read_bytes().splitlines()[9])
        assert (said["kind"], said["bytes"], said["cut"].encode("latin-1")) == ("mend", kept, raw[9][:kept])
        found = read_evidence(folder, judge)
        assert (found.lines, found.mends, len(found.watched.samples)) == (11, 1, 7)


def test_a_changed_last_line_is_cut_off_and_kept_too(copy: Path) -> None:
    size = sum(map(len, (copy / FILE).read_bytes().splitlines(keepends=True)[:10]))
    cut(copy, size)
    edited(lambda raw: flipped(raw, 9))(copy)
    assert faults(copy)
    log = opened(copy, START + 900)
    log.close()
    assert (log.lines, read_evidence(copy, judge).mends) == (10, 1)


@pytest.mark.parametrize(
    "name", ["a flipped bit", "a cut tail", "a removed line", "a rewritten line", "a rewritten chain"]
)
def test_other_damage_is_not_mended(name: str, copy: Path) -> None:
    FORGERIES[name][0](copy)
    with pytest.raises(CorruptStore, match=FILE):
        opened(copy)


def test_a_head_without_its_signature_is_left_by_a_death_and_removed(copy: Path) -> None:
    (copy / "heads/000000015.sig").unlink()
    assert not faults(copy)
    opened(copy).close()
    assert not (copy / "heads/000000015").exists()


def test_two_watchers_do_not_share_a_folder(tmp_path: Path) -> None:
    first = opened(tmp_path / "watch")
    with pytest.raises(StudyBusy, match="another process watches into this folder"):
        opened(tmp_path / "watch")
    first.close()
    opened(tmp_path / "watch").close()


@pytest.mark.parametrize(
    ("terms", "what"),
    [
        (WatchTerms("http://other.test/", 60.0, 10.0), "another target"),
        (WatchTerms(TERMS.target, 30.0, 10.0), "another --every"),
        (WatchTerms(TERMS.target, 60.0, 5.0), "another --timeout"),
        (WatchTerms(TERMS.target, 60.0, 10.0, 204), "another --expect"),
        (WatchTerms(TERMS.target, 60.0, 10.0, None, "ready"), "another --expect"),
    ],
)
def test_a_folder_is_for_one_watch(terms: WatchTerms, what: str, evidence: Path) -> None:
    with pytest.raises(UserMistake, match=what):
        opened(evidence, terms=terms)
    with pytest.raises(UserMistake, match="another key of its user"):
        EvidenceLog.open(evidence, TERMS, signer(b"y" * 32), START)
    opened(evidence).close()
    assert terms_of(evidence) == TERMS


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserMistake, match=r"holds other files \(thesis\.txt\)"):
        opened(tmp_path)
    for read in (lambda: terms_of(tmp_path), lambda: read_evidence(tmp_path, judge)):
        with pytest.raises(UserMistake, match="holds no"):
            read()


def test_a_full_disk_leaves_whole_lines_and_the_next_one_is_stored(tmp_path: Path) -> None:
    import resource

    log = opened(tmp_path / "watch")
    log.append("start", START, mono=1.0, boot="b")
    before, size = log.lines, (tmp_path / "watch" / FILE).stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, limits[1]))
    try:
        with pytest.raises(StorageFault, match="limit on the size of files"):
            log.append("sample", START, mono=1.0, ok=True, response_s=0.1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (log.lines, (tmp_path / "watch" / FILE).stat().st_size) == (before, size)
    assert log.append("sample", START + 60, mono=61.0, ok=True, response_s=0.1) == before + 1
    log.sign(START + 60)
    log.close()
    assert len(read_evidence(tmp_path / "watch", judge).watched.samples) == 1


def test_after_a_failed_fsync_the_file_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = opened(tmp_path / "watch")
    path, real = tmp_path / "watch" / FILE, os.fsync
    before, failed = path.stat().st_ino, []

    def fsync(descriptor: int) -> None:
        if not failed:
            failed.append(descriptor)
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    log.append("start", START, mono=1.0, boot="b")
    log.append("sample", START, mono=1.0, ok=True, response_s=0.1)
    log.sign(START)
    log.close()
    assert failed
    assert path.stat().st_ino != before
    assert read_evidence(tmp_path / "watch", judge).lines == 3


@pytest.mark.parametrize(("step", "fits"), [(0.5, True), (-59.0, True), (3600.0, False), (None, False)])
def test_a_clock_that_was_set_by_more_than_an_interval_makes_no_claims(
    step: float | None, fits: bool, tmp_path: Path
) -> None:
    log = opened(tmp_path / "watch")
    log.append("clock", START + 5, step_s=step)
    log.sign(START + 5)
    log.close()
    assert read_evidence(tmp_path / "watch", judge).steps[0].step_s == step
    if fits:
        assert read_for_claims(tmp_path / "watch", judge).terms.every_s == 60.0
    else:
        with pytest.raises(UserMistake, match=f"{FILE}:2: the watcher's clock was set"):
            read_for_claims(tmp_path / "watch", judge)


@pytest.mark.parametrize(
    ("kind", "fields", "what"),
    [
        ("sample", {"ok": True}, "is no sample"),
        ("sample", {"ok": True, "response_s": -1.0}, "is no sample"),
        ("sample", {"ok": 1, "response_s": 1.0}, "is no sample"),
        ("sample", {"ok": False, "mono": 1.0, "reason": 7}, "its reason is no text"),
        ("sample", {"ok": True, "response_s": "1"}, "its response_s is no number"),
        ("gap", {}, "is a gap without a beginning"),
        ("begin", {}, "is no first line"),
        ("party", {}, "is of the unknown kind 'party'"),
    ],
)
def test_lines_that_no_watcher_writes_are_refused(
    kind: str, fields: dict[str, object], what: str, tmp_path: Path
) -> None:
    log = opened(tmp_path / "watch")
    log.append(kind, START, **fields)
    log.sign(START)
    log.close()
    assert f"{FILE}:2: {what}" in faults(tmp_path / "watch")[0]
