"""A study of token buckets from its file to its report: planted figures, and a real network without a bucket."""

from pathlib import Path

from tests.cli.command import cloudcmp

PLANTED = """\
schema: 1
question: Which network is faster once its bucket is empty?
candidates:
  - provider: simulated
    region: nimbus
    offering: small
    truth:
      cells: {burst_bytes_per_s: 10 Gbit/s, bucket_bytes: 32 GB, sustained_bytes_per_s: 100 MB/s}
  - provider: simulated
    region: stratus
    offering: small
    truth:
      cells: {burst_bytes_per_s: 5 Gbit/s, bucket_bytes: 16 GiB, sustained_bytes_per_s: 200 MB/s}
launches: 6
runs: 1
probes: [{probe: throttle, params: {path: zone}}]
decide: [sustained_bytes_per_s]
"""
LOOPBACK = """\
schema: 1
question: Is loopback throttled?
candidates: [{provider: local, region: local, offering: 1cpu}]
launches: 1
runs: 1
probes: [{probe: throttle, params: {duration_s: 300 ms, hold_s: 200 ms}}]
"""


def compared(tmp_path: Path, study: str) -> str:
    """What `compare --all` prints of a study, in one line."""
    (tmp_path / "study.yaml").write_text(study, encoding="utf-8")
    ran = cloudcmp("run", tmp_path / "study.yaml", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    return " ".join(cloudcmp("compare", tmp_path / "out", "--all").out.split())


def test_three_planted_figures_are_shown_in_their_units(tmp_path: Path) -> None:
    text = compared(tmp_path, PLANTED)
    assert "sustained bandwidth, in one zone" in text
    assert "stratus better than nimbus" in text
    for title, unit in (("burst bandwidth, in one zone", "B/s"), ("token bucket of the network, in one zone", "GB")):
        assert title in text
        assert unit in text.partition(title)[2][:12]


def test_where_no_bucket_is_seen_its_figures_have_no_value_and_no_trial_failed(tmp_path: Path) -> None:
    text = compared(tmp_path, LOOPBACK)
    assert "trials failed" not in text
    assert "1 of 1 trials gave no value (token bucket of the network" in text
    assert "n 1; 1/1 trials" in text.partition("burst bandwidth")[2]
