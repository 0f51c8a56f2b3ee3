"""What a row of `make promises` is called."""

import pytest

from tests.promises import ROWS, Row
from tests.rows import record


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (Row("P1", "", 5, 0), "kept"),
        (Row("P1", "", 5, 1), "BROKEN"),
        (Row("P1", "", 5, 1, allowed=1), "kept"),
        (Row("P1", "", 0, 0), "BROKEN"),
        (Row("P1", "", 0, 0, left_out="no qemu"), "left out"),
        (Row("P1", "", 3, 1, left_out="no qemu"), "BROKEN"),
    ],
)
def test_nothing_tried_is_kept_only_where_it_is_said_why(row: Row, word: str) -> None:
    assert row.word == word


def test_what_is_written_down_is_of_rows_that_there_are() -> None:
    assert set(record()) <= {row.__name__ for row in ROWS}


def test_every_row_can_be_asked_for_by_name() -> None:
    assert len({row.__name__ for row in ROWS}) == len(ROWS)
