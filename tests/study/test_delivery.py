"""The file of a content delivery network."""

from pathlib import Path

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import PriceTier
from cloudcmp.study.delivery import read_delivery

GOOD = """\
name: edges
hit_ratio: 90 %
edge: 12 ms
prices: [{per_gb: 0.08}, {from_gb: 10000, per_gb: 0.06}]
origin_per_gb: 0.02
as_of: 2026-01-31
example: true
"""
ROOT = Path(__file__).resolve().parents[2]


def written(folder: Path, text: str) -> Path:
    path = folder / "cdn.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_hits_distance_and_tiers_are_read(tmp_path: Path) -> None:
    found = read_delivery(written(tmp_path, GOOD))
    assert (found.name, found.hit_ratio, found.edge_s, found.currency) == ("edges", 0.9, 0.012, "USD")
    assert found.tiers == (PriceTier(0.0, 0.08), PriceTier(10000.0, 0.06))
    assert (found.origin_per_gb, found.as_of, found.example) == (0.02, "2026-01-31", True)


def test_the_shipped_example_says_that_it_is_one() -> None:
    found = read_delivery(ROOT / "studies" / "delivery" / "example.yaml")
    assert found.example
    assert found.as_of


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("90 %", "100 %"), ":2:12: every request is a hit"),
        (("90 %", "-1"), ":2:12: hit_ratio: -1 is not between 0 and 1"),
        (("12 ms", "12"), ":3:7: edge: 12 needs a unit of time"),
        (("from_gb: 10000", "from_gb: 0"), ":4:9: the tiers do not begin at 0 and rise"),
        (("per_gb: 0.08", "per_gb: 0"), "0 is not a number above 0"),
        (("name: edges\n", ""), "name"),
        (("origin_per_gb", "orign_per_gb"), "origin_per_gb"),
    ],
)
def test_a_mistake_has_its_line_and_column(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    with pytest.raises(UserMistake) as refused:
        read_delivery(written(tmp_path, GOOD.replace(*change)))
    assert told in str(refused.value)


def test_a_missing_file_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="no such file"):
        read_delivery(tmp_path / "none.yaml")
