"""No bytes make the reader do anything but read a study or name faults."""

import json
import string
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.study.corpus import GOOD, PROVIDERS

from cloudcmp.errors import UserMistake
from cloudcmp.model.study import Study
from cloudcmp.study import read_text


def survives(content: bytes) -> None:
    started = time.process_time()
    try:
        read = read_text(content, "study.yaml", providers=PROVIDERS)
    except UserMistake as error:
        for fault in error.faults:
            assert fault.where.startswith("study.yaml:")
            assert fault.what
            assert fault.next
            assert "\n" not in fault.line()
    else:
        assert isinstance(read, Study)
    assert time.process_time() - started < 1.0


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """The parser is imported once a process; the limit is for a file."""
    read_text(GOOD, "study.yaml", providers=PROVIDERS)


@given(st.binary(max_size=400))
@example(b'a: "\\UFFFFFFFF"')
@example(b"%TAG ! tag:x,2000:\n---\n!a b")
@example(b"? ? ? a")
@example(b"a: &a [*a]")
@example(b"\xef\xbb\xbf")
@settings(max_examples=150, deadline=None)
def test_any_bytes(content: bytes) -> None:
    survives(content)


@given(st.text(alphabet=string.printable + "éü\u2028\x00\x1b", max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text(text: str) -> None:
    survives(text.encode())


@given(
    st.lists(st.sampled_from([*"[]{},:-?&*!|>'\"%@`#\n ", "a", "1", "- ", ": ", "? ", "<<", "---", "..."]), max_size=60)
)
@settings(max_examples=200, deadline=None)
def test_any_punctuation(parts: list[str]) -> None:
    survives("".join(parts).encode())


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["5 USD", "1 h", "2 %", "aws", "fma", "simulated", "all", "1 MiB", "", "weekdays", "rtt_s"])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.integers(0, GOOD.count("\n") - 1), VALUES)
@settings(max_examples=150, deadline=None)
def test_any_value_in_any_line(number: int, value: object) -> None:
    lines = GOOD.splitlines()
    key, colon, _ = lines[number].partition(":")
    lines[number] = f"{key}{colon} {json.dumps(value)}"
    survives("\n".join(lines).encode())


@given(st.binary(min_size=1, max_size=3), st.integers(0, len(GOOD) - 1), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_the_good_file_with_a_few_bytes_changed(noise: bytes, at: int, cut: int) -> None:
    content = GOOD.encode()
    survives(content[:at] + noise + content[at + cut :])


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 2**20,
        b"- " * 2**19,
        b"? " * 2**19,
        b"!" * 2**20,
        b"&" + b"a" * 2**20,
        b"{a: " * 2**18,
        b"#\n" * 2**19,
        b"\n" * 2**20,
        b"'" + b"\n" * (2**20 - 1),
        b"a: |\n" + b" x\n" * 340_000,
        b"[" + b"1," * 500_000,
        b"*a " * 340_000,
        b"a\n" * 2**19,
        b'"' + b"\\x41" * 2**18,
        b" " * 2**20,
        b"- a\n" * 2**18,
        b"a: b\n" * 200_000,
        b"? a\n" * 2**18,
        b"".join(b"k%d: v\n" % number for number in range(100_000)),
        b"\xff" * 2**20,
        b"a" * 2**21,
    ],
)
def test_large_hostile_files_end_soon(content: bytes) -> None:
    survives(content)
