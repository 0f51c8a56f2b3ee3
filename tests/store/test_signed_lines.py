"""Which lines of evidence were signed by the watcher that wrote them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evidence import START, appended, by_program, judge, opened, signer

from cloudcmp.errors import CorruptStore
from cloudcmp.model.watch import LineSpan
from cloudcmp.store.watch import lines, verify_evidence
from cloudcmp.store.watch.read import FILE, read_evidence, unsigned_spans


def test_lines_after_the_last_head_are_chained_only_and_no_samples_of_claims(copy: Path) -> None:
    appended(copy)
    found = read_evidence(copy, judge)
    assert (found.lines, found.signed_lines, found.unsigned) == (18, 15, (LineSpan(16, 18),))
    assert (len(found.watched.samples), len(found.signed.samples)) == (15, 12)
    assert all(one.ok for one in found.signed.samples)
    done = by_program(copy)
    assert (done.returncode, "BAD" in done.stdout) == (1, False)
    said = "UNSIGNED: lines 16 to 18 are chained only: anyone with the folder could have written them"
    assert said in done.stdout.splitlines()


def test_a_watch_that_goes_on_does_not_vouch_for_lines_that_it_found(copy: Path) -> None:
    appended(copy)
    log = opened(copy, START + 2000)
    assert (log.found, log.signed) == (18, 15)
    log.append("start", START + 2000, mono=1.0, boot="c", found=log.found, signed=log.signed)
    log.append("sample", START + 2000, mono=1.0, ok=True, response_s=0.1)
    log.sign(START + 2000)
    log.close()
    found = read_evidence(copy, judge)
    assert (found.lines, found.signed_lines, found.unsigned) == (20, 20, (LineSpan(16, 18),))
    assert [one.ok for one in found.signed.samples] == [True] * 13
    done = by_program(copy)
    assert (done.returncode, "UNSIGNED: lines 16 to 18 are chained only" in done.stdout) == (1, True)


def test_a_watch_does_not_go_on_from_a_head_that_its_key_did_not_sign(copy: Path) -> None:
    appended(copy)
    log = opened(copy)
    log._signer = signer(b"x" * 32)
    log.sign(START)
    log.close()
    path = copy / "heads/000000018"
    path.write_bytes(path.read_bytes().replace(signer(b"x" * 32).public.encode(), signer().public.encode()))
    with pytest.raises(CorruptStore, match=r"000000018: was not signed with your key"):
        opened(copy)


@pytest.mark.parametrize("at", [START - 1e9, START + 60.0, START + 675.0, START + 1e9])
def test_times_in_lines_that_nobody_signed_change_no_other_time(at: float, copy: Path) -> None:
    """Samples are at START + 0 to 660 s; another watcher goes on 2000 s after START and finds a line."""
    raw = (copy / FILE).read_bytes().splitlines(keepends=True)
    raw.append(lines.encode(len(raw) + 1, lines.digest(raw[-1]), "sample", at, {"mono": 1.0, "ok": False}))
    (copy / FILE).write_bytes(b"".join(raw))
    alone = read_evidence(copy, judge).signed.left_out
    assert [start for start, _ in alone] == [max(at, START + 660.0)]
    log = opened(copy, START + 2000)
    log.append("gap", START + 2000, **{"from": at}, why="not watched", elapsed_s=None)
    log.append("start", START + 2000, mono=1.0, boot="c", found=log.found, signed=log.signed)
    log.append("sample", START + 2001, mono=1.0, ok=True, response_s=0.1)
    log.sign(START + 2001)
    log.close()
    found = read_evidence(copy, judge)
    expected = (at if START + 660.0 <= at <= START + 2001 else START + 660.0, START + 2001)
    assert found.signed.left_out == (expected,)
    assert [(gap.start, gap.end, gap.why) for gap in found.signed_gaps] == [(*expected, "not signed")]
    assert found.unsigned_failed == 1


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[int], int]:
    """Starts with what they found, heads, and the number of lines, of watchers one after the other."""
    starts, heads, count = [], [], 0
    for _ in range(draw(st.integers(1, 5))):
        found = count
        count += draw(st.integers(0 if count else 1, 3)) + 1
        starts.append((count, found))
        for _ in range(draw(st.integers(0, 6))):
            count += 1
            heads += [count] * draw(st.booleans())
    return starts, heads, count


@given(histories())
def test_a_line_is_signed_if_a_head_covers_it_before_another_watcher_finds_it(
    history: tuple[list[tuple[int, int]], list[int], int],
) -> None:
    starts, heads, count = history
    expected = []
    for line in range(1, count + 1):
        head = min((one for one in heads if one >= line), default=None)
        if head is None or any(line <= found and start <= head for start, found in starts):
            expected.append(line)
    spans = unsigned_spans(starts, heads, count)
    assert [line for span in spans for line in range(span.first, span.last + 1)] == expected
    beside = verify_evidence.unsigned_spans(dict(starts), heads, count)
    assert beside == {span.first: span.last for span in spans}
