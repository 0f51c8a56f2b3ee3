"""Machine types that are made to order, by their names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.offering import CustomType, custom_type


def test_names_say_what_they_are():
    assert custom_type("gcp", "n2-custom-4-8192") == CustomType("n2", 4, 8192)
    assert custom_type("gcp", "custom-1-1024") == CustomType("n1", 1, 1024)
    assert custom_type("gcp", "n1-custom-2-16384-ext") == CustomType("n1", 2, 16384, extended=True)
    for name in ("n2-standard-4", "n2-custom-4", "n2-custom-4-8192-x", "custom", ""):
        assert custom_type("gcp", name) is None
    assert custom_type("aws", "n2-custom-4-8192") is None


@pytest.mark.parametrize("name", ["n2-custom-3-4096", "n2-custom-0-4096", "n2-custom-4-4100", "e2-custom-2-0"])
def test_what_no_family_has_is_told(name):
    with pytest.raises(ValueError, match=name):
        custom_type("gcp", name)


@given(st.sampled_from(["e2", "n1", "n2d", "n4"]), st.integers(1, 64), st.integers(1, 1024))
def test_a_name_that_was_made_is_read_as_it_was_made(family, pairs, quarters):
    made = custom_type("gcp", f"{family}-custom-{pairs * 2}-{quarters * 256}")
    assert made == CustomType(family, pairs * 2, quarters * 256)


@given(st.text())
def test_any_other_text_is_no_custom_type(text):
    assert "custom" in text or custom_type("gcp", text) is None
