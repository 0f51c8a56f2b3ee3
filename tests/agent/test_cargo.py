"""How a run of the agent's own tests is counted."""

from tests.agent.cargo import counted

RAN = "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.1s\n"
FAILED = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.1s\n"


def test_all_binaries_are_added_and_what_was_skipped_did_not_run():
    found = counted(0, f"{RAN}---- p26_a stdout ----\nskipped: no veth here\n{RAN}")
    assert (found.ran, found.failed, found.left_out) == (7, 0, ("skipped: no veth here",))


def test_what_failed_or_did_not_even_build_is_told():
    assert (counted(101, RAN + FAILED).ran, counted(101, RAN + FAILED).failed) == (7, 2)
    assert (counted(101, "error: could not compile").ran, counted(101, "error: could not compile").failed) == (0, 1)
    assert counted(0, "").ran == 0
