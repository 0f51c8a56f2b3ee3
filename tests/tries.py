"""Checks of times that a busy machine spoils now and then."""

from collections.abc import Callable, Sequence


def tries(check: Callable[[], Sequence[str]]) -> None:
    """Checks up to four times: a machine that is busy or stands still spoils one run, not all of them.

    `check` returns what is wrong, nothing where all is right.
    """
    wrong = []
    for _ in range(4):
        wrong.append(check())
        if not wrong[-1]:
            return
    raise AssertionError(wrong)
