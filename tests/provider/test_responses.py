"""What clouds answer where they say no, and where nothing is known of what was done."""

import pytest

from cloudcmp.errors import NOTHING_MADE, IncompleteListing, LostAnswer
from cloudcmp.provider.common.responses import CloudError, lost_response, missing_id_fault, unclear_response


@pytest.mark.parametrize("tell", [unclear_response, lost_response])
def test_p1_what_may_have_been_done_is_never_told_as_if_nothing_was(tell) -> None:
    making, looking = tell("HTTP 502", "aws", changes=True), tell("HTTP 502", "aws", changes=False)
    assert (type(making), type(looking)) == (LostAnswer, IncompleteListing)
    assert not isinstance(making, NOTHING_MADE)
    for fault in (making, looking):
        assert "HTTP 502" in fault.faults[0].what
        assert fault.faults[0].next


def test_p1_an_answer_that_names_nothing_leaves_open_what_was_made() -> None:
    assert not isinstance(missing_id_fault("aws"), NOTHING_MADE)
    assert "does not name the new resource" in str(missing_id_fault("aws"))


def test_a_code_is_shown_with_its_text_where_it_has_one() -> None:
    assert CloudError("Throttling", "slow down", 400).line == "Throttling: slow down"
    assert CloudError("HTTP 500", "").line == "HTTP 500"
