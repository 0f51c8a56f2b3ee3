"""CloudCmp's case studies (IMC 2010, section 6) on the shipped study, and a program of this machine."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from cloudcmp.app.predict import predict
from cloudcmp.app.profile import profile, write
from cloudcmp.errors import UserMistake
from cloudcmp.model.prediction import Aim, Predicted, Prediction
from tests.cli.command import cloudcmp

ROOT = Path(__file__).parents[2]
APPLICATIONS = ROOT / "studies" / "applications"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped study with two launches in place of ten."""
    folder = tmp_path_factory.mktemp("applications")
    text = (ROOT / "studies" / "applications.yaml").read_text(encoding="utf-8")
    assert "launches: 10" in text
    (folder / "study.yaml").write_text(text.replace("launches: 10", "launches: 2"), encoding="utf-8")
    said = cloudcmp("run", "study.yaml", "--out", "study", "--quiet", cwd=folder)
    assert said.code == 0, said.err
    return folder / "study"


def of(name: str, study: Path, aim: Aim = Aim.TIME) -> Prediction:
    return predict(APPLICATIONS / f"{name}.yaml", [str(study)], aim=aim)


def by_name(found: Prediction) -> Mapping[str, Predicted]:
    return {one.key.name: one for one in found.candidates}


def test_pages_on_table_storage_rank_as_their_operations(measured: Path) -> None:
    """C1 is first on every page; C4 is before C3, except on pages 9 and 10, which query (section 6.1)."""
    found = of("tpcw", measured)
    c1, c3, c4 = (by_name(found)[name] for name in ("C1.2", "default", "C4.1"))
    assert len(found.parts) == 12
    assert found.simulated
    for at in range(12):
        assert c1.parts_s[at] < min(c3.parts_s[at], c4.parts_s[at])
        assert (c4.parts_s[at] < c3.parts_s[at]) == (at + 1 not in {9, 10})
    assert found.short_list[0].key.region == "c1"
    assert "C2.1" not in by_name(found)


def test_the_price_of_a_page_is_that_of_its_operations_and_its_processor_time(measured: Path) -> None:
    """Page 7 at C1: one get at 0.13 milli-cents (table 4), and 2 ms of a machine at 0.34 USD an hour (table 3)."""
    found = by_name(of("tpcw", measured, Aim.COST))["C1.2"]
    gets, puts, queries, cpu_s = 49 / 12, 13 / 12, 5 / 12, 0.052 / 12
    milli_cents = gets * 0.13 + puts * 0.31 + queries * 1.47
    assert found.cost == pytest.approx(1000 * (milli_cents * 1e-5 + cpu_s * 0.34 / 3600), rel=1e-6)


def test_jobs_over_a_queue_and_blobs_rank_as_the_processors(measured: Path) -> None:
    """C4.1 beats C1.1 in all five jobs, at a similar price (section 6.2); clouds without a queue have no prediction."""
    found = of("blast", measured)
    names = by_name(found)
    assert len(found.parts) == 5
    assert all(a < b for a, b in zip(names["C4.1"].parts_s, names["C1.1"].parts_s, strict=True))
    assert "default" not in names
    assert [one.key.name for one in found.left_out] == ["default"]


def test_static_pages_rank_as_the_wide_area_latency(measured: Path) -> None:
    """C3 is first for both sizes (section 6.3)."""
    found = of("static-pages", measured)
    c3 = by_name(found)["default"]
    assert found.parts == ("1 KB from users", "100 KB from users")
    assert c3.parts_s == pytest.approx((2 * 0.055, 4 * 0.055), rel=0.05)
    assert all(c3.parts_s[at] == min(one.parts_s[at] for one in found.candidates) for at in range(2))
    assert c3.cost is None  # nobody printed the price of the bytes


def test_a_profile_is_an_application(tmp_path: Path) -> None:
    """Its home is this machine, which an imported table stands for."""
    found = profile(
        ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.05"], runs=2, name="loop: 1"
    )
    write(found, tmp_path / "app.yaml")
    home = found.home.name
    head = "provider,region,offering,metric,params,unit,better,value,round,vcpus"
    rows = [f"local,local,{home},int_op_per_s,threads=one,op/s,higher,100,{at},2" for at in range(6)]
    rows += [f"cloud,r,fast,int_op_per_s,threads=one,op/s,higher,400,{at},2" for at in range(6)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join([head, *rows]), encoding="utf-8")
    answer = predict(tmp_path / "app.yaml", [str(table)])
    names = by_name(answer)
    assert answer.name == "loop: 1"
    # What no measurement explains, waiting included, stays; the processor time is a quarter.
    assert names["fast"].time_s < names[home].time_s
    assert names["fast"].time_s >= names[home].time_s / 4


def test_a_failed_run_has_no_demands() -> None:
    with pytest.raises(UserMistake, match="run 1 failed, exit code 3"):
        profile(["sh", "-c", "exit 3"])


def test_another_file_is_not_replaced(tmp_path: Path) -> None:
    found = profile(["true"])
    target = tmp_path / "app.yaml"
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(UserMistake, match="is there already and is no application's demands"):
        write(found, target)
    target.unlink()
    write(found, target)
    write(found, target)


@pytest.mark.parametrize(
    ("name", "told"), [("none.yaml", "there is no such file"), (".", "this is a folder")], ids=["missing", "folder"]
)
def test_a_file_that_cannot_be_read_is_told(name: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=told):
        predict(tmp_path / name, ["prices"])
