"""The hint after an unknown name."""

from cloudcmp.provider.common.suggestions import nearest


def test_an_unknown_name_is_answered_by_the_one_that_is_most_like_it() -> None:
    assert nearest("us-esat-1", ("eu-west-1", "us-east-1")) == "did you mean us-east-1?"
    assert nearest("zzz", ("eu-west-1",), "there are eu-west-1") == "there are eu-west-1"
    assert nearest("zzz", ()) == "cloudcmp list offerings"
