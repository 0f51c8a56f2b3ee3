"""The lines of a sweep: tags of strangers move no cursor."""

from tests.app.test_sweep import FUTURE, Cloud, resource, swept

from cloudcmp.report.leftovers import lines


def test_what_a_tag_says_moves_no_cursor_and_makes_no_lines() -> None:
    evil = resource(1, study="a\x1b[2J\nwould go: cloud/eu-west-1 instance i-99999", expires=FUTURE)
    (told,) = lines(swept(Cloud.of(evil)))
    assert "\x1b" not in told
    assert "\n" not in told
    assert told.startswith("kept: cloud/eu-west-1 instance i-00001: ")
