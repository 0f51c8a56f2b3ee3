"""When something that a cloud does not show any more counts as gone."""

from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.provider.common.absence import Absence


class Clock:
    """Seconds that pass when told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_what_was_never_shown_is_gone_only_after_it_was_unseen_for_long_enough() -> None:
    clock = Clock()
    absence = Absence(300.0, "found", clock)
    assert absence.evidence("a", "i-1") is None
    clock.now += 299.0
    assert absence.evidence("a", "i-1") is None
    clock.now += 1.0
    assert absence.evidence("a", "i-1") == "i-1 is not found for 300 s"
    assert absence.evidence("b", "i-2") is None


def test_what_is_shown_once_is_waited_for_anew() -> None:
    clock = Clock()
    absence = Absence(300.0, "found", clock)
    absence.evidence("a", "i-1")
    clock.now += 1000.0
    absence.record_presence("a")
    assert absence.evidence("a", "i-1") is None
    clock.now += 299.0
    assert absence.evidence("a", "i-1") is None


def test_what_was_accepted_need_not_be_waited_for() -> None:
    absence = Absence(300.0, "in any complete list", Clock())
    absence.record_deletion("a")
    assert absence.evidence("a", "i-1") == "the deletion of i-1 was accepted, and it is not in any complete list"
    assert absence.evidence("b", "i-2") is None


def test_one_look_is_never_enough_even_without_a_wait() -> None:
    clock = Clock()
    absence = Absence(0.0, "found", clock)
    assert absence.evidence("a", "i-1") is None
    assert absence.evidence("a", "i-1") is None
    clock.now += 0.1
    assert absence.evidence("a", "i-1") is not None


@given(st.lists(st.tuples(st.floats(0.0, 400.0), st.booleans()), max_size=30))
def test_nothing_is_gone_that_was_shown_within_the_wait(looks: list[tuple[float, bool]]) -> None:
    clock = Clock()
    absence = Absence(300.0, "found", clock)
    first_unseen: float | None = None
    for passed_s, shown in looks:
        clock.now += passed_s
        if shown:
            absence.record_presence("a")
            first_unseen = None
            continue
        first_unseen = clock.now if first_unseen is None else first_unseen
        assert (absence.evidence("a", "i-1") is not None) is (clock.now - first_unseen >= 300.0)
