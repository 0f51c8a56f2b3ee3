"""Cells of one metric in the order in which they are listed."""

from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.catalog.order import cell_order
from cloudcmp.model.cell import Cell


def listed(*cells: str) -> list[str]:
    return sorted(sorted(cells), key=lambda text: cell_order(Cell.parse(text)))


def test_reading_stands_before_writing_with_the_percentiles_of_each() -> None:
    cells = [
        f"disk_latency_s block_bytes={size};op={op};percentile={percentile};threads=one"
        for size in (4096, 1048576)
        for op in ("read", "write")
        for percentile in (50, 95, 99)
    ]
    assert listed(*cells) == cells


def test_threads_and_sizes_are_ordered_by_number_and_words_as_their_probe_has_them() -> None:
    for cells in (
        [f"fma_flop_per_s threads={threads}" for threads in ("one", "2", "4", "16", "all")],
        [f"chase_latency_s size_bytes={size}" for size in (16384, 1048576, 134217728)],
        [f"blob_bytes_per_s op={op}" for op in ("download", "upload")],
        [f"queue_latency_s op={op}" for op in ("send", "receive")],
        [f"iozone_bytes_per_s op={op}" for op in ("write", "rewrite", "read", "reread", "mixed")],
        [f"own_s kind={word}" for word in ("1", "2", "10", "inf", "nan", "x")],
    ):
        assert listed(*cells) == cells


_WORDS = st.text("abcxyz0123456789.-", min_size=1, max_size=6)
_CELLS = st.dictionaries(st.sampled_from(["op", "threads", "percentile", "a", "size_bytes"]), _WORDS, max_size=4)


@given(st.lists(_CELLS.map(lambda params: Cell.of("disk_op_per_s", params)), max_size=6))
def test_any_cells_have_one_order(cells: list[Cell]) -> None:
    assert sorted(cells, key=cell_order) == sorted(sorted(cells), key=cell_order)
    assert len({cell_order(cell) for cell in cells}) <= len(set(cells))
