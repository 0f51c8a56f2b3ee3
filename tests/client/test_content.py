"""The client's data are the agent's, byte for byte."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cloudcmp.client.content import KEPT, UPLOADED, Blob, Rng, group, is_message, message, row


def test_the_content_of_a_blob_is_what_the_agent_is_tested_to_write() -> None:
    blob = Blob(KEPT, 1024, 7)
    assert blob.key == "b/1024/000007"
    # The same digest stands in the agent's own test of its content.
    assert hashlib.sha256(blob.body()).hexdigest() == "8ab9427fe7299117a27d882cea8fb02aa68a78dd38855cbfd3a8460f8cf3fc9e"
    assert Blob(UPLOADED, 10, 123_456).key == "u/10/123456"


@given(size=some.integers(1, 3_000_000), index=some.integers(0, 1000))
def test_a_blob_has_its_size_and_repeats_after_a_prime_number_of_bytes(size: int, index: int) -> None:
    body = Blob(KEPT, size, index).body()
    assert len(body) == size
    assert body[1_048_573:] == body[: max(0, size - 1_048_573)]
    assert body != Blob(KEPT, size, index + 1).body() or size < 4


def test_rows_are_named_by_part_and_index_and_grouped_by_ten() -> None:
    own = row(KEPT, 1234)
    assert (own.k, own.g, len(own.v)) == ("r00001234", "g123", 100)
    assert (row(UPLOADED, 7).k, row(UPLOADED, 77).g) == ("u00000007", "gu7")
    assert [one.k for one in group(KEPT, 13, 15)] == [f"r{index:08}" for index in range(10, 15)]


@given(size=some.integers(1, 60), number=some.integers(0, 2**64 - 1), other=some.text(max_size=40))
def test_a_message_is_known_by_its_text(size: int, number: int, other: str) -> None:
    text = message(size, number)
    assert len(text) == size
    assert is_message(text, size)
    assert not is_message(text + "x", size)
    assert not is_message(other, 41)


@pytest.mark.parametrize(("size", "number", "text"), [(2, 0xBEEF, "ef"), (16, 0xBEEF, "000000000000beef")])
def test_a_short_message_is_the_lowest_digits_of_its_number(size: int, number: int, text: str) -> None:
    assert message(size, number) == text


@given(seed=some.integers(0, 2**48), stream=some.integers(0, 9))
def test_numbers_follow_from_seed_and_stream(seed: int, stream: int) -> None:
    one, other = Rng(seed, stream), Rng(seed, stream)
    assert [one.below(10) for _ in range(20)] == [other.below(10) for _ in range(20)]
    assert Rng(seed, stream).next() != Rng(seed, stream + 1).next()
