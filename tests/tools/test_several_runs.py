"""Files that hold several runs of a tool, one after the other: each run is read by itself, in order."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.model.tool import UnclearOutput
from cloudcmp.tools import READERS
from cloudcmp.tools.page import documents
from tests.slices import examples
from tests.tools.outputs import reports, sample, why

JSONS = ["fio-read.json", "fio-randrw.json", "iperf3-udp.json", "hyperfine.json", "k6-export.json", "memtier-json.json"]
TEXTS = [
    "fio-text.txt", "fio-2-text.txt", "stress-ng-two.txt", "stress-ng-two.yaml", "sysbench-cpu.txt", "wrk.txt",
    "openssl-table.txt", "openssl-mr.txt",
]  # fmt: skip


def reader_of(name: str) -> str:
    return next(one for one in sorted(READERS, key=len, reverse=True) if name.startswith(one))


@pytest.mark.parametrize("name", [*JSONS, *TEXTS])
def test_runs_one_after_the_other_are_read_like_each_alone(name: str) -> None:
    once = reports(reader_of(name), sample(name))
    thrice = reports(reader_of(name), sample(name) * 3)
    assert thrice == once * 3


@pytest.mark.parametrize("name", JSONS)
def test_documents_may_stand_on_lines_or_in_a_list_or_without_a_gap(name: str) -> None:
    once = reports(reader_of(name), sample(name))
    line = json.dumps(json.loads(sample(name)))
    for text in (f"{line}\n{line}\n", line + line, f"[{line}, {line}]", f"first\n{line}\nsecond\n{line}\n"):
        assert reports(reader_of(name), text) == once * 2


@pytest.mark.parametrize("name", [*JSONS, *TEXTS])
def test_a_last_run_that_is_cut_never_tells_another_number(name: str) -> None:
    once, text = reports(reader_of(name), sample(name)), sample(name)
    for part in range(1, 24):
        cut = text + text[: len(text) * part // 24]
        try:
            found = reports(reader_of(name), cut)
        except UnclearOutput:
            continue
        assert found == (once * 2)[: len(found)]


def test_clones_of_one_run_are_still_refused() -> None:
    document = json.loads(sample("fio-read.json"))
    document["jobs"] *= 2
    assert "each its share" in why("fio", json.dumps(document))
    assert "each its share" in why("fio", sample("fio-read.json") + json.dumps(document))


@settings(max_examples=examples(100, 20), deadline=None, derandomize=True)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5)), min_size=1, max_size=5),
    st.sampled_from(["", "\n", "\n\n", "\nnoise without brackets\n", " \n "]),
)
def test_all_documents_are_found_whatever_is_between(several: list[dict[str, object]], between: str) -> None:
    assert documents(between.join(map(json.dumps, several))) == several
    cut = between.join(map(json.dumps, several))[:-1]
    with pytest.raises(UnclearOutput, match="cut or broken"):
        documents(cut)
