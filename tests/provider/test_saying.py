"""What others wrote, and the hint after an unknown name."""

from hypothesis import example, given
from hypothesis import strategies as st

from cloudcmp.provider.saying import nearest, plain


@given(st.text(max_size=600))
@example("a\nb\x1b[31mc")
def test_p28_what_a_provider_wrote_is_one_short_line(text: str) -> None:
    shown = plain(text)
    assert len(shown) <= 200
    assert shown.isprintable()
    assert shown == plain(shown).strip()


def test_words_stay_words_and_what_is_too_long_is_cut() -> None:
    assert plain("no\r\n\tsuch\x1b[31m  thing\x00") == "no such [31m thing"
    assert plain("x" * 500) == "x" * 200


def test_an_unknown_name_is_answered_by_the_one_that_is_most_like_it() -> None:
    assert nearest("us-esat-1", ("eu-west-1", "us-east-1")) == "did you mean us-east-1?"
    assert nearest("zzz", ("eu-west-1",), "there are eu-west-1") == "there are eu-west-1"
    assert nearest("zzz", ()) == "cloudcmp list offerings"
