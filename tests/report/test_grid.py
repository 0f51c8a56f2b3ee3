"""The table of file and record sizes: what is asked for, what has a value, and when there is no such table."""

from tests.report.test_speedup import TWO, book_of

from cloudcmp.report import html
from cloudcmp.report.sheets import grid

KIB = 1024


def cell(op: str, file_kib: int, record_kib: int, durability: str = "cached") -> str:
    sizes = f"op={op};record_bytes={record_kib * KIB};threads=one"
    return f"iozone_bytes_per_s durability={durability};file_bytes={file_kib * KIB};{sizes}"


SWEEP: dict[str, tuple[float | None, float]] = {
    cell("read", 1024, 4): (5e9, 0.0),
    cell("read", 64, 4): (2e9, 0.0),
    cell("read", 1024, 64): (6e9, 0.0),
    cell("write", 64, 4): (1e9, 0.0),
    cell("write", 1024, 512): (None, 0.0),
}


def test_files_are_rows_records_are_columns_and_operations_are_headings() -> None:
    (sheet,) = grid.sheets(book_of(SWEEP))
    assert sheet.caption == "aws/two: file bandwidth (iozone), page cache (no disk), 1 thread, GB/s"
    assert [column.title for column in sheet.columns] == ["file, record", "4 KiB", "64 KiB", "512 KiB"]
    assert [[field.text for field in row.fields] for row in sheet.rows] == [
        ["write"],
        ["file 64 KiB", "1.00", "", ""],
        ["file 1 MiB", "", "", "–"],
        ["read"],
        ["file 64 KiB", "2.00", "", ""],
        ["file 1 MiB", "5.00", "6.00", ""],
    ]  # the order of IOzone's operations
    assert [row.heading for row in sheet.rows] == [True, False, False, True, False, False]
    assert "n 0 to 6" in sheet.note


def test_what_else_sets_cells_apart_has_a_table_of_its_own_and_one_size_has_none() -> None:
    both = SWEEP | {cell.replace("cached", "osync"): value for cell, value in SWEEP.items()}
    captions = [sheet.caption for sheet in grid.sheets(book_of(both))]
    assert len(captions) == 2
    assert sum("page cache (no disk)" in caption for caption in captions) == 1
    assert grid.sheets(book_of({cell("read", 64, 4): (1e9, 0.0), cell("read", 64, 8): (1e9, 0.0)})) == ()
    assert grid.sheets(book_of({"fma_flop_per_s precision=f64;threads=one": (1e9, 0.0)})) == ()


def test_the_page_has_the_table_where_sizes_were_swept() -> None:
    page = html.render(book_of(SWEEP).view, ())
    assert 'id="grid"' in page
    assert "file 1 MiB" in page
    assert 'id="grid"' not in html.render(book_of({cell("read", 64, 4): (1e9, 0.0)}, (TWO,)).view, ())
