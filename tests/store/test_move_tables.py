"""Tables of egress prices, of throughput between places, and of shipped devices."""

import os
from pathlib import Path

import pytest

from cloudcmp.errors import UserMistake
from cloudcmp.model.placement import PriceTier
from cloudcmp.store.egress_prices import read_egress_prices
from cloudcmp.store.shipped_devices import read_devices
from cloudcmp.store.throughputs import read_throughputs

DATA = os.environ.get("CLOUDCMP_DATA")
real = pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no tables of real clouds")


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_tiers_are_sorted_and_a_price_of_zero_is_unknown(tmp_path: Path) -> None:
    rows = "x,r,0.07,51200\nx,r,0.09,0\nx,free,0,\nx,none,,\n"
    found = read_egress_prices(written(tmp_path, f"provider,region,usd_per_gb,from_gb\n{rows}"))
    assert found.of("x", "r") == (PriceTier(0.0, 0.09), PriceTier(51200.0, 0.07))
    assert found.of("x", "free") == found.of("x", "none") == found.of("y", "r") == ()
    assert found.notes == ("table.csv: 2 prices of zero are unknown",)


def test_a_tier_without_a_price_makes_its_region_unknown_and_a_free_one_does_not(tmp_path: Path) -> None:
    rows = "x,r,0,0\nx,r,0.08,100\nx,s,free,0\nx,s,0.08,100\n"
    found = read_egress_prices(written(tmp_path, f"provider,region,usd_per_gb,from_gb\n{rows}"))
    assert found.of("x", "r") == ()
    assert found.of("x", "s") == (PriceTier(0.0, 0.0), PriceTier(100.0, 0.08))
    assert "a tier of r has no price" in found.notes[1]


@real
def test_the_tables_of_skyplane_give_prices_to_the_internet() -> None:
    folder = Path(DATA or "") / "skyplane_wan"
    amazon = read_egress_prices(folder / "aws_transfer_costs.csv")
    assert amazon.of("aws", "sa-east-1") == (PriceTier(0.0, 0.15),)
    grid = read_egress_prices(folder / "egress_cost_per_GB.csv")
    assert grid.of("aws", "sa-east-1") == (PriceTier(0.0, 0.15),)
    assert grid.of("gcp", "europe-west1") == (PriceTier(0.0, 0.12),)
    assert "no prices to the internet" in grid.notes[1]
    assert grid.between[("aws", "us-east-1"), ("aws", "us-east-2")] == 0.01


@real
def test_the_runs_of_skyplane_are_rates_between_regions() -> None:
    found = read_throughputs(Path(DATA or "") / "skyplane_wan" / "throughput_2022-11-28.csv")
    rates = found.values["aws/us-west-2", "gcp/us-west1"]
    assert rates == pytest.approx((4722406789.899842 / 8,))
    assert any("many connections" in note for note in found.notes)


def test_rates_of_one_pair_are_kept_and_failed_runs_are_not(tmp_path: Path) -> None:
    rows = "home,a:b-1,8e8,True\nhome,a/b-1,16e8,True\nhome,a/b-1,1,False\n"
    found = read_throughputs(written(tmp_path, f"from,to,bit_per_s,success\n{rows}"))
    assert found.values == {("home", "a/b-1"): (1e8, 2e8)}
    assert found.notes == ("table.csv: 1 row of another network tier or of failed runs is left out",)


def test_a_device_has_its_prices_and_days(tmp_path: Path) -> None:
    head = "name,usable_tb,fee,handling_days,copy_mb_per_s,included_days,day_fee,out_per_gb"
    (one,) = read_devices(written(tmp_path, f"{head}\nbox,40,300,7,250,10,25,0\n"))
    assert (one.usable_bytes, one.fee, one.handling_days, one.copy_bytes_per_s) == (40e12, 300.0, 7.0, 250e6)
    assert (one.day_fee, one.out_per_gb, one.currency) == (25.0, None, "USD")


@pytest.mark.parametrize(
    ("reader", "text", "told"),
    [
        (read_egress_prices, "region,usd_per_gb\nr,-1\n", "table.csv:2: a price of -1"),
        (read_egress_prices, "region,usd_per_gb\nr,x\n", "table.csv:2: 'x' is no price of a GB"),
        (read_egress_prices, "region,usd_per_gb\n,1\n", "table.csv:2: a price of no region"),
        (read_egress_prices, "region,usd_per_gb\nr,0\n", "table.csv: no price above zero to the internet"),
        (read_egress_prices, "region,usd_per_gb,from_gb\nr,1,10\n", "table.csv: the tiers of r begin at 10 GB"),
        (read_egress_prices, "region,usd_per_gb\nr,0.1\nr,0.2\n", "table.csv:3: r has two prices from 0 GB on"),
        (read_egress_prices, "region,x\nr,0\n", "table.csv:1: no column 'usd_per_gb'"),
        (read_egress_prices, "region,cost,currency\nr,1,USD\ns,1,EUR\n", "table.csv: prices in EUR and USD"),
        (read_throughputs, "from,to,bytes_per_s\na,b,0\n", "table.csv:2: '0' is no rate above zero"),
        (read_throughputs, "from,to\na,b\n", "table.csv:1: no column 'bytes_per_s'"),
        (read_devices, "name,usable_tb\nx,1\n", "table.csv:1: no column 'fee'"),
        (
            read_devices,
            "name,usable_tb,fee,handling_days,copy_mb_per_s\nx,1,0,1,1\n",
            ":2: fee is missing or zero",
        ),
        (read_devices, "name,usable_tb,fee,handling_days,copy_mb_per_s\n", "table.csv: no device is in it"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, reader: object, text: str, told: str) -> None:
    assert callable(reader)
    with pytest.raises(UserMistake) as refused:
        reader(written(tmp_path, text))
    assert told in str(refused.value)
    assert len(refused.value.faults) == 1
