"""Comments go, and nothing else does."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from cloudcmp.study import without_comments

STUDIES = sorted((Path(__file__).parent.parent.parent / "studies").glob("*.yaml"))
TRICKY = """\
# a secret
schema: 1  # a secret
question: "is # this kept?" # a secret
name: a#b
block: |
  text # kept
  # kept
list:
  # a secret
  - {a: 1, # a secret
     b: 'x # y'}
text: plain words
  going on # a secret
# a secret"""


def load(text):
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_a_study_means_the_same_without_its_comments(file):
    text = file.read_text(encoding="utf-8")
    kept = without_comments(text)
    assert load(kept) == load(text)
    assert "#" not in kept
    assert len(kept.splitlines()) == len(text.splitlines())


def test_p38_a_comment_is_gone_and_a_text_with_a_hash_stays():
    kept = without_comments(TRICKY)
    assert "secret" not in kept
    assert load(kept) == load(TRICKY)
    assert kept.count("# kept") == 2
    assert "a#b" in kept


@given(st.lists(st.sampled_from([*TRICKY, "#", " #", "\n", "'", '"', ": ", "- ", "|\n  "]), max_size=60).map("".join))
def test_whatever_can_be_read_means_the_same_and_what_cannot_is_dropped(text):
    try:
        meant = load(text)
    except (YAMLError, ValueError):
        without_comments(text)
        return
    assert load(without_comments(text)) == meant
