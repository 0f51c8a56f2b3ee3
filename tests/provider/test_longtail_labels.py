"""Tags with keys and values, kept as words of few letters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.provider.longtail.labels import FIREWALL, MACHINE, Record, from_pairs, read, to_pairs, write

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
TAGS = st.dictionaries(TEXTS | TEXTS.map("cloudcmp:{}".format), TEXTS, max_size=7).map(
    lambda tags: tuple(sorted(tags.items()))
)
RECORDS = st.builds(Record, TAGS, *[st.none() | TEXTS] * 3)
OURS = Record((("cloudcmp:schema", "1"), ("cloudcmp:study", "Study_A")), "t-1", "n--1")


@given(RECORDS, st.sampled_from([50, 128, 255]), st.sampled_from([MACHINE, FIREWALL]), st.randoms())
def test_a_record_comes_back_as_it_was_whatever_it_holds(record, most, mark, random):
    words = list(write(record, most, mark))
    assert all(len(word) <= most and re.fullmatch(r"[a-z0-9_:-]+", word) for word in words)
    strangers = ["cloudcmp", f"{mark}-", "env:prod", *write(OURS, most, FIREWALL if mark == MACHINE else MACHINE)]
    mixed = words + strangers
    random.shuffle(mixed)
    assert read(mixed, mark) == record


@given(RECORDS, st.data())
def test_a_record_that_lacks_a_piece_or_has_another_one_is_none(record, data):
    words = list(write(record, 50))
    if len(words) > 1:
        lost = data.draw(st.integers(0, len(words) - 1))
        assert read([word for at, word in enumerate(words) if at != lost]) is None
        changed = words[lost][:-1] + ("0" if words[lost][-1] != "0" else "1")
        assert read([*words[:lost], changed, *words[lost + 1 :]]) is None


@given(st.lists(TEXTS | st.from_regex(r"cloudcmp(-fw)?(:|-[0-9a-f]{6}-[0-9]of[0-9]:)[a-z0-9_:~@-]*", fullmatch=True)))
def test_whatever_words_a_resource_bears_nothing_breaks(words):
    for mark in (MACHINE, FIREWALL):
        found = read(words, mark)
        assert found is None or isinstance(found, Record)


def test_a_record_can_be_read_by_a_person():
    assert write(OURS, 255) == ("cloudcmp:schema:1:study:_53tudy_5f_41:_40token:t-1:_40name:n--1",)


@pytest.mark.parametrize("word", ["cloudcmp:odd", "cloudcmp:a:b:c", "cloudcmp:A:b", "cloudcmp:_zz:b", "cloudcmp:_ff:b"])
def test_what_we_never_wrote_is_no_record(word):
    assert read([word]) is None


@given(RECORDS, st.sampled_from([60, 10_000]))
def test_a_record_is_kept_in_labels_with_key_and_value(record, most):
    pairs = to_pairs(write(record, most))
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in pairs)
    assert all(re.fullmatch(r"v[a-z0-9_.-]*v", value) and len(value) <= most for value in pairs.values())
    assert read(from_pairs({"env": "prod", **pairs})) == record
