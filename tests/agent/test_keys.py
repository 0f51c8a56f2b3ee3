import base64
import contextlib

import asyncssh
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.agent.host import new_key, parse_public

PUBLIC = new_key().public


def spelled(blob: bytes) -> str:
    return "ssh-ed25519 " + base64.b64encode(blob).decode()


def test_a_new_key_is_a_pair_without_comment_and_never_the_same_twice():
    one, other = new_key(), new_key()
    assert asyncssh.import_private_key(one.private).export_public_key().decode().strip() == one.public
    assert len(one.public.split(" ")) == 2
    assert one != other
    assert one.private not in repr(one)


@given(st.binary(min_size=32, max_size=32))
def test_every_key_of_the_right_shape_is_read_and_comes_back_as_it_was(key):
    text = spelled(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + key)
    assert parse_public(text + "\n") == text


@given(st.one_of(st.text(max_size=200), st.binary(max_size=120).map(spelled), st.text(max_size=20).map(PUBLIC.__add__)))
def test_anything_else_is_refused_or_is_that_very_key(text):
    with contextlib.suppress(ValueError):
        assert parse_public(text) == text.strip(" \r\n")
        assert asyncssh.import_public_key(text).algorithm == b"ssh-ed25519"


@given(st.integers(0, len(PUBLIC) - 1), st.characters(codec="latin-1"))
def test_one_changed_character_gives_another_key_or_none(at, char):
    changed = PUBLIC[:at] + char + PUBLIC[at + 1 :]
    with contextlib.suppress(ValueError):
        assert (parse_public(changed) == PUBLIC) == (changed.strip(" \r\n") == PUBLIC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        PUBLIC + " a comment",
        PUBLIC + "\n" + PUBLIC,
        PUBLIC.replace(" ", "  "),
        "from=* " + PUBLIC,
        "ssh-rsa AAAAB3NzaC1yc2E=",
        PUBLIC + "=",
        PUBLIC[:-4],
    ],
    ids=["nothing", "comment", "twice", "spaces", "options", "rsa", "padding", "short"],  # keys are new each time
)
def test_what_a_lying_machine_may_print_is_no_key(text):
    with pytest.raises(ValueError, match=r"is not|does not"):
        parse_public(text)
