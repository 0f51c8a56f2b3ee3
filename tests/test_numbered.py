"""What the row of all numbered tests runs, and what it leaves to other rows."""

from tests.numbered import OWN_ROWS, Ran, chosen

OWN = [f"tests/{own}" for own in OWN_ROWS]


def test_only_a_number_in_the_name_of_the_test_itself_counts() -> None:
    ids = ["tests/test_planted.py::test_plan", "tests/a/test_p.py::test_p18_is[1]", "tests/a.py::test_parts[test_p1]"]
    assert chosen([*ids, *OWN]) == ([ids[1]], [])


def test_only_tests_with_a_row_of_their_own_are_left_out() -> None:
    beside = OWN[0].partition("::")[0] + "::test_p24_another"
    assert chosen([*OWN, beside, f"{OWN[1]}[7]", f"{OWN[1]}_and_more"]) == ([beside, f"{OWN[1]}_and_more"], [])


def test_a_name_that_no_test_has_is_stale() -> None:
    assert chosen(OWN[1:])[1] == [OWN_ROWS[0]]


def test_a_run_that_ended_badly_is_broken_whatever_it_counted() -> None:
    assert [Ran(7, 0, 0, code, "").broken for code in (0, 1, 2, 3, 4, 5)] == [0, 1, 1, 1, 1, 1]
    assert Ran(7, 3, 0, 1, "").broken == 3
