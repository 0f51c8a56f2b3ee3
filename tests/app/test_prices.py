"""The fit of prices on a public table of thousands of offerings, with pandas and scipy as second witnesses."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

from cloudcmp.app.prices import prices
from cloudcmp.errors import UserMistake
from tests.late import Late

pd = Late("pandas")

DATA = os.environ.get("CLOUDCMP_DATA", "")
TABLE = Path(DATA) / "sparecores" / "benchmarks_by_instance.csv"


@pytest.mark.skipif(not DATA or not TABLE.exists(), reason="CLOUDCMP_DATA is not set")
def test_the_fit_of_a_public_table_is_that_of_an_optimiser() -> None:
    found = prices([str(TABLE)], ["stressng_best_n"])
    frame = pd.read_csv(TABLE, low_memory=False)
    outside = {one.key.name for one in found.offers if one.burstable}
    columns = ["vcpus", "memory_mib", "stressng_best_n", "usd_per_hour"]
    frame = frame[frame.status.str.lower() != "inactive"]
    frame = frame[(frame[columns] > 0).all(axis=1) & ~(frame.gpu_count > 0) & ~frame.instance_type.isin(outside)]
    frame = frame.sort_values("usd_per_hour").drop_duplicates(["vendor", "instance_type"])
    assert len(frame) == found.n == 2310
    others = [one.name for one in found.terms if one.is_provider]
    x = np.column_stack(
        [np.ones(len(frame)), np.log(frame.vcpus), np.log(frame.memory_mib / 1024), np.log(frame.stressng_best_n)]
        + [(frame.vendor == one).astype(float) for one in others]
    )
    y = np.log(frame.usd_per_hour.to_numpy())
    scale = np.log(found.typical)
    best = optimize.least_squares(lambda b: (y - x @ b) / (1.345 * scale), np.zeros(x.shape[1]), loss="huber",
                                  xtol=1e-14, ftol=1e-14, gtol=1e-14).x  # fmt: skip
    wanted = [*best[1:4], *np.exp(best[4:])]
    assert [one.value for one in found.terms] == pytest.approx(wanted, rel=1e-4)
    assert scale == pytest.approx(np.median(np.abs(y - x @ best)) / stats.norm.ppf(0.75), rel=1e-4)


@pytest.mark.skipif(not DATA or not TABLE.exists(), reason="CLOUDCMP_DATA is not set")
def test_no_burstable_type_shapes_the_fit_and_about_one_in_twenty_is_outside() -> None:
    found = prices([str(TABLE)], ["stressng_best_n"])
    fitted = [one for one in found.offers if not one.burstable]
    assert len(fitted) == found.n
    outside = sum(one.is_dear or one.is_cheap for one in fitted)
    assert 0.02 < outside / len(fitted) < 0.08


@pytest.mark.parametrize(
    ("rows", "on", "what"),
    [
        ("a,t1,0.1,2,4\na,t2,0.2,4,8", [], "too few offerings"),
        ("a,t1,0.1,2,4\na,t2,0.2,4,8\na,t3,0.3,8,17", [], "3 rows for 3 columns; give at least 5"),
        ("a,t1,0.1,2,4", ["speed"], "no source has a column 'speed'"),
        ("a,t1,0.1,2,4", ["offering"], "has texts such as 't1'"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(tmp_path: Path, rows: str, on: list[str], what: str) -> None:
    path = tmp_path / "offers.csv"
    path.write_text(f"provider,offering,usd_per_hour,vcpus,memory_gib\n{rows}\n", encoding="utf-8")
    with pytest.raises(UserMistake, match=what):
        prices([str(path)], on)
