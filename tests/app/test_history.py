"""The history of studies and tables: what is one series, what is old, and 483 days of a real cloud."""

from pathlib import Path

import pytest

from cloudcmp.app.history import history
from cloudcmp.errors import UserMistake
from cloudcmp.model.history import By
from tests.azure_vm_noise import fresh, needs_data, table
from tests.cli.command import cloudcmp
from tests.late import Late

np = Late("numpy")
pd = Late("pandas")

DAY = 86400.0
STUDY = """\
schema: 1
name: followed
question: Does it stay as it is?
candidates:
  - {{provider: simulated, region: nimbus, offering: small, price: 0.10 USD/h}}
probes:
  - {{probe: fma, params: {{threads: one}}}}
launches: {days}
runs: 1
every: 1 d
for: {days} d
budget: 100 USD
"""


def followed(folder: Path, days: int) -> Path:
    file = folder / "followed.yaml"
    file.write_text(STUDY.format(days=days), encoding="utf-8")
    done = cloudcmp("run", file, "--out", folder / "study")
    assert done.code == 0, done.err
    return folder / "study"


def csv(path: Path, days: range, level: float, offering: str = "small", more: str = "") -> Path:
    """A table with two launches a day, in 2026."""
    head = "provider,region,offering,instance,time,metric,unit,better,value" + (",kernel" if more else "")
    rows = [f"aws,eu,{offering},{day}-{k},{np.datetime64('2026-01-01') + day}T0{k}:00:00Z,rate,op/s,higher,"
            f"{level * (1 + 0.01 * ((day * 7 + k * 3) % 5 - 2)):.4f}{',' + more if more else ''}"
            for day in days for k in (1, 2)]  # fmt: skip
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def test_a_study_of_rounds_is_a_series_at_its_virtual_days(tmp_path: Path) -> None:
    found = history([str(followed(tmp_path, 12))])
    (one,) = found.tracks
    assert len(one.values) == 12
    assert np.diff(one.times) == pytest.approx([DAY] * 11, abs=3600)
    assert found.as_of == one.times[-1]
    assert found.outdated == ()
    assert found.sources[0].simulated
    assert found.sources[0].cost is not None


def test_a_table_and_the_study_made_of_it_are_one_history(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv", range(30), 100.0)
    assert cloudcmp("import", path, "--out", tmp_path / "study").code == 0
    alone, stored = history([str(path)]), history([str(tmp_path / "study")])
    assert alone.tracks[0].candidate == "aws/eu/small"
    assert [(one.times, one.values, one.counts) for one in alone.tracks] == [
        (one.times, one.values, one.counts) for one in stored.tracks
    ]


def test_what_was_measured_before_a_change_is_told(tmp_path: Path) -> None:
    before = csv(tmp_path / "before.csv", range(30), 100.0, more="6.1")
    after = csv(tmp_path / "after.csv", range(30, 60), 120.0, more="6.8")
    found = history([str(before), str(after)], as_of=_days(61))
    (one,) = found.tracks
    (change,) = one.changes
    assert change.at == pytest.approx(_days(30), abs=DAY)
    assert [(fact.fact, fact.before, fact.after) for fact in change.facts] == [("kernel", "6.1", "6.8")]
    (old,) = found.outdated
    assert found.sources[old.source].name == "before.csv"
    assert [later.change.at for later in old.later] == [change.at]
    assert history([str(before), str(after)], as_of=_days(29)).outdated == ()


def test_another_offering_of_the_provider_shows_a_change_too(tmp_path: Path) -> None:
    small = csv(tmp_path / "small.csv", range(20), 100.0)
    rows = [csv(tmp_path / f"{at}.csv", days, level, "large").read_text().splitlines()
            for at, (days, level) in enumerate([(range(30), 200.0), (range(30, 60), 150.0)])]  # fmt: skip
    large = tmp_path / "large.csv"
    large.write_text("\n".join([*rows[0], *rows[1][1:]]) + "\n", encoding="utf-8")
    found = history([str(small), str(large)], as_of=_days(61))
    (old,) = found.outdated
    assert old.source == 0
    assert found.tracks[old.later[0].track].candidate == "aws/eu/large"


def test_a_quarter_is_old(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv", range(5), 100.0)
    assert history([str(path)], as_of=_days(80)).outdated == ()
    (old,) = history([str(path)], as_of=_days(120)).outdated
    assert old.later == ()
    assert any("fewer than 10 points" in note for note in history([str(path)]).notes)


def test_a_class_of_applications_names_its_metrics(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"aws,eu,a,udp_jitter_s,,s,lower,0.0{day + 10},2026-01-{day + 1:02d}T00:00:00Z" for day in range(12)]
    rows += [f"aws,eu,a,rate,,op/s,higher,{day + 10},2026-01-{day + 1:02d}T00:00:00Z" for day in range(12)]
    head = "provider,region,offering,metric,params,unit,better,value,time"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    found = history([str(path)], application="voip", provider="aws")
    assert [one.cell for one in found.tracks] == ["udp_jitter_s"]
    assert "its users want udp_jitter_s <= 75 ms: the most for a good impression; 40 ms are recommended" in found.notes
    assert any(note.startswith("nothing was measured of wan_rtt_s percentile=95, udp_loss") for note in found.notes)


def test_what_cannot_be_followed_is_one_line(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv", range(5), 100.0)
    timeless = tmp_path / "timeless.csv"
    timeless.write_text("offering,metric,unit,better,value\na,rate,op/s,higher,1\n", encoding="utf-8")
    for sources, options, words in (
        ([timeless], {}, "none of 1 values has a time"),
        ([path], {"provider": "azure"}, "no value of the provider 'azure'"),
        ([path], {"metrics": ["rat"]}, "no value of 'rat'; nearest: rate"),
        ([tmp_path / "none"], {}, "no such study or file"),
    ):
        with pytest.raises(UserMistake, match=words):
            history([str(one) for one in sources], **options)


def _days(number: float) -> float:
    return 1767225600.0 + number * DAY


@needs_data
def test_a_year_of_a_real_cloud(tmp_path: Path) -> None:
    rows = fresh()
    found = history([str(table(tmp_path))], as_of=1735689600.0)
    assert len(found.tracks) == 8
    day = pd.to_datetime(rows.time).dt.floor("D")
    launches = rows.groupby(["offering", "metric", day, "instance"]).value.median()
    days = launches.groupby(level=[0, 1, 2]).median()
    for one in found.tracks:
        offering = one.candidate.rpartition("/")[2]
        assert list(one.values) == pytest.approx(days[offering, one.cell].tolist(), rel=1e-12)
    # Read-only PostgreSQL on D8s_v5 was slower for 18 days; the burstable machines wander, and nothing is claimed.
    changes = {
        (one.candidate.rpartition("/")[2], one.cell): [
            pd.Timestamp(each.at, unit="s").date().isoformat() for each in one.changes
        ]
        for one in found.tracks
    }
    assert changes["D8s_v5", "pgbench_read"][-2:] == ["2023-09-26", "2023-10-14"]
    assert sum(map(len, changes.values())) <= 5
    assert found.outdated[0].later == ()


@needs_data
def test_by_launch_all_machines_are_points(tmp_path: Path) -> None:
    found = history([str(table(tmp_path))], by=By.LAUNCH, metrics=["triad"], provider="azure")
    rows = fresh()
    for one in found.tracks:
        own = rows[(rows.offering == one.candidate.rpartition("/")[2]) & (rows.metric == "triad")]
        assert len(one.values) == own.instance.nunique()


def test_a_study_and_its_export_count_once(tmp_path: Path) -> None:
    study = followed(tmp_path, 12)
    assert cloudcmp("export", study, "--out", tmp_path / "copy.csv").code == 0
    assert cloudcmp("import", tmp_path / "copy.csv", "--out", tmp_path / "again").code == 0
    alone = history([str(study)])
    for sources in ([study, tmp_path / "copy.csv"], [tmp_path / "copy.csv", study], [study, tmp_path / "again", study]):
        found = history([str(one) for one in sources])
        assert [(one.values, one.counts) for one in found.tracks] == [(one.values, one.counts) for one in alone.tracks]
        told = [note for note in found.notes if note.endswith("each counts once")]
        assert len(told) == len(sources) - 1
        assert all("12 of its launches are those of study" in note for note in told)
