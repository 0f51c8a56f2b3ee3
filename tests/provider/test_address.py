"""From where the controller is seen."""

import pytest

from cloudcmp.errors import Refused
from cloudcmp.provider.address import controller


@pytest.mark.parametrize(
    ("endpoint", "seen"), [("http://127.0.0.1:5000", "127.0.0.1/32"), ("http://[::1]:5000", "::1/128")]
)
def test_the_way_to_an_endpoint_tells_our_own_address(endpoint: str, seen: str) -> None:
    assert controller(endpoint) == seen


def test_an_endpoint_without_a_way_is_refused_with_what_to_write() -> None:
    with pytest.raises(Refused, match="allow: 203"):
        controller("http://no-such-host.invalid:1")
