"""Tables with semicolons and tabs, and the numbers of spreadsheets: read where they mean one thing, else refused."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.slices import examples

from cloudcmp.errors import UserMistake
from cloudcmp.store.tidy_agree import TidyTable
from cloudcmp.store.tidy_check import read_tidy
from cloudcmp.store.tidy_dialect import NumberStyle, delimiter_of, is_header, plain_number

HEAD = "offering;metric;unit;better;value;price_eur_per_hour;params\n"


def read(folder: Path, text: str) -> TidyTable:
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    return read_tidy(path, {})


def values(table: TidyTable) -> list[float]:
    return [float(value) for chunk in table.rows.chunks for value in chunk.value]


def table(*numbers: str, price: str = "", head: str = HEAD) -> str:
    return head + "".join(f"a;x_s;s;lower;{number};{price};k=1,5\n" for number in numbers)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UserMistake) as mistake:
        read(folder, text)
    (line,) = str(mistake.value).splitlines()
    return line.removeprefix(f"{folder}/")


@pytest.mark.parametrize(
    ("numbers", "meant"),
    [
        (["12,5", "13"], [12.5, 13.0]),
        (["12,5", "1,234"], [12.5, 1.234]),
        (["0,123", "1,234", "2,345"], [0.123, 1.234, 2.345]),
        (["1.234,5", "2.345"], [1234.5, 2345.0]),
        (["1.234.567", "2,5"], [1234567.0, 2.5]),
        (["1234,567", "1,234"], [1234.567, 1.234]),
        (["1,5e3", "2"], [1500.0, 2.0]),
        (["12.5", "1,234"], [12.5, 1234.0]),
        (["1,234.5", "2"], [1234.5, 2.0]),
        (["1,234,567", "2"], [1234567.0, 2.0]),
        (["12.5", "13"], [12.5, 13.0]),
        (["1.234", "2.345"], [1.234, 2.345]),
        (["+1,50", "2"], [1.5, 2.0]),
    ],
)
def test_numbers_that_mean_one_thing(tmp_path: Path, numbers: list[str], meant: list[float]) -> None:
    found = read(tmp_path, table(*numbers))
    assert values(found) == meant
    # A text that is no number is as it was written.
    assert found.rows.cells == ("x_s k=1,5",)


@pytest.mark.parametrize(
    ("numbers", "line"),
    [
        (["1,234", "2,345"], "table.csv:2: 1,234 may be 1.234 or 1234; write all numbers with a decimal point and "
                             "nothing between thousands"),
        (["7", "1,234"], "table.csv:3: 1,234 may be 1.234 or 1234;"),
        (["999", "1.234"], "table.csv:3: 1.234 may be 1.234 or 1234;"),
        (["1,234", "1.234"], "table.csv:2: 1,234 may be"),
        (["12,5", "12.5"], "table.csv:3: 12.5 and, on line 2, 12,5 have different decimal marks;"),
        (["1.234,5", "1,234.5"], "table.csv:3: 1,234.5 and, on line 2, 1.234,5 have different"),
        (["12,5", "1,23,4"], "table.csv:3: the value '1,23,4' is not a finite number; write e.g. 12.5"),
        (["12,5", "1.23.4"], "table.csv:3: the value '1.23.4' is not a finite number"),
        (["12,5", "about 3"], "table.csv:3: the value 'about 3' is not a finite number"),
    ],
)  # fmt: skip
def test_numbers_that_may_mean_two_things_are_refused(tmp_path: Path, numbers: list[str], line: str) -> None:
    assert refused(tmp_path, table(*numbers)).startswith(line)


def test_a_price_shows_the_decimal_mark_too(tmp_path: Path) -> None:
    found = read(tmp_path, table("1,234", "2,345", price="0,10"))
    assert values(found) == [1.234, 2.345]
    assert found.attributes[("imported", "", "a")]["price_eur_per_hour"] == "0.10"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "\ufeff", "sep=;\n", "\ufeffsep=;\r\n", "\n\n", "\n\nsep=;\n"])
def test_what_excel_writes_around_a_table(tmp_path: Path, before: str, end: str) -> None:
    text = before + table("12,5", '"3,25"').replace("\n", end)
    assert values(read(tmp_path, text)) == [12.5, 3.25]
    at = text.count("\n") + 1
    assert refused(tmp_path, text + f"a;x_s;s;lower;much;;k=1{end}").startswith(f"table.csv:{at}: the value 'much'")


def test_tabs_separate_as_well(tmp_path: Path) -> None:
    text = table("12,5", "13", head=HEAD).replace(";", "\t")
    assert values(read(tmp_path, text)) == [12.5, 13.0]
    assert values(read(tmp_path, text.replace("12,5", "12.5"))) == [12.5, 13.0]


def test_a_comma_separated_table_is_read_as_ever(tmp_path: Path) -> None:
    head = "offering,metric,unit,better,value\n"
    assert values(read(tmp_path, head + "a,x_s,s,lower,999\na,x_s,s,lower,1.234\n")) == [999.0, 1.234]
    assert "'1,234' is not a finite number" in refused(tmp_path, head + 'a,x_s,s,lower,"1,234"\n')


def test_the_delimiter_is_that_of_the_names() -> None:
    assert delimiter_of("offering;metric;unit;value;a,b\n") == ";"
    assert delimiter_of('"offering"\t"metric"\t"unit"\t"value"\n') == "\t"
    assert delimiter_of("a;b\n") == ";"
    assert delimiter_of("a,b;c,d\n") == ","
    assert delimiter_of("sep=\t\n") == "\t"
    assert is_header("sep=;\r\n")
    assert is_header("x;value\n")
    assert not is_header("a;b,c\n")


def grouped(whole: str, mark: str) -> str:
    first = len(whole) % 3 or 3
    return mark.join([whole[:first], *(whole[at : at + 3] for at in range(first, len(whole), 3))])


@settings(max_examples=examples(200, 20), deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 10**9).map(lambda n: n / 1000), min_size=1, max_size=6),
    st.integers(0, 5),
    st.booleans(),
    st.sampled_from(NumberStyle),
    st.sampled_from([";", "\t"]),
)
def test_a_spreadsheets_numbers_are_read_as_meant_or_refused(
    numbers: list[float], digits: int, groups: bool, style: NumberStyle, delimiter: str
) -> None:
    """Whatever one format of all cells is, no number is ever taken for a thousand times another."""
    numbers = [max(number, 1.0) if not digits else number for number in numbers]
    texts = []
    for number in numbers:
        whole, _, rest = f"{number:.{digits}f}".partition(".")
        whole = grouped(whole, style.other.value) if groups else whole
        texts.append(f"{whole}{style.value}{rest}" if rest else whole)
    meant = [float(f"{number:.{digits}f}") for number in numbers]
    with TemporaryDirectory() as folder:
        text = table(*texts).replace(";", delimiter)
        try:
            found = values(read(Path(folder), text))
        except UserMistake:
            return
    by_comma = all(np.isclose(one, other) for one, other in zip(found, meant, strict=True))
    # Only a column whose every cell has three digits after a point reads as decimals, as every program writes them.
    assert by_comma or all(one.count(".") == 1 and len(one.rpartition(".")[2]) == 3 and "," not in one for one in texts)


@settings(max_examples=examples(300, 30), deadline=None, derandomize=True)
@given(st.text("0123456789.,+-eE ", max_size=12), st.sampled_from(NumberStyle))
def test_any_other_text_stays(text: str, style: NumberStyle) -> None:
    changed = plain_number(text, style)
    if changed != text:
        assert "," not in changed
        assert float(changed) == float(changed.replace("+", ""))
