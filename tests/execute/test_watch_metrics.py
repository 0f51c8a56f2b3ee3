"""The metrics of a watch, by a parser of OpenMetrics that others wrote."""

import urllib.request
from urllib.error import HTTPError

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from cloudcmp.execute.watch.metrics import BOUNDS_S, CONTENT_TYPE, MetricsServer, WatchMetrics
from cloudcmp.model.watch import WatchSample

TIMES = st.one_of(st.none(), st.floats(0, 20))
SAMPLES = st.lists(st.tuples(st.booleans(), TIMES), max_size=30)


def parsed(metrics: WatchMetrics) -> dict[str, list]:
    """The samples of each family, and that every family has its kind and its unit."""
    families = list(text_string_to_metric_families(metrics.text()))
    assert {one.name: (one.type, one.unit) for one in families} == {
        "cloudcmp_watch_requests": ("counter", ""),
        "cloudcmp_watch_response_seconds": ("histogram", "seconds"),
        "cloudcmp_watch_last_request_timestamp_seconds": ("gauge", "seconds"),
        "cloudcmp_watch_up": ("gauge", ""),
        "cloudcmp_watch_evidence_lines": ("gauge", ""),
        "cloudcmp_watch_signed_lines": ("gauge", ""),
    }
    return {one.name: one.samples for one in families}


@given(SAMPLES)
def test_a_parser_of_others_reads_every_count(samples: list[tuple[bool, float | None]]) -> None:
    metrics = WatchMetrics(["http://a.test/"], 1000.5)
    for at, (ok, response) in enumerate(samples):
        metrics.sampled("http://a.test/", WatchSample(2000.0 + at, ok, response, "" if ok else "refused"), at + 3)
    found = parsed(metrics)
    totals = {
        one.labels["outcome"]: one.value for one in found["cloudcmp_watch_requests"] if one.name.endswith("_total")
    }
    assert totals.get("ok", 0) == sum(ok for ok, _ in samples)
    assert totals.get("refused", 0) == sum(not ok for ok, _ in samples)
    times = [response for _, response in samples if response is not None]
    histogram = found["cloudcmp_watch_response_seconds"]
    for one in histogram:
        if one.name.endswith("_bucket"):
            assert one.value == sum(time <= float(one.labels["le"]) for time in times)
    (total,) = (one.value for one in histogram if one.name.endswith("_sum"))
    assert total == pytest.approx(sum(times))
    if samples:
        assert found["cloudcmp_watch_up"][0].value == samples[-1][0]
        assert found["cloudcmp_watch_last_request_timestamp_seconds"][0].value == 2000.0 + len(samples) - 1


def test_several_targets_share_each_family_and_any_url_is_a_label() -> None:
    targets = ["http://a.test/", 'http://b.test/"\\\n?q={x}']
    metrics = WatchMetrics(targets, 1000.0)
    for target in targets:
        metrics.sampled(target, WatchSample(2000.0, True, 0.05), 3)
        metrics.signed(target, 3)
    found = parsed(metrics)
    assert [one.labels["target"] for one in found["cloudcmp_watch_signed_lines"]] == targets
    assert len(found["cloudcmp_watch_response_seconds"]) == 2 * (len(BOUNDS_S) + 1 + 3)


def test_the_server_serves_metrics_and_nothing_else() -> None:
    metrics = WatchMetrics(["http://a.test/"], 1000.0)
    server = MetricsServer(("127.0.0.1", 0), metrics)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"] == CONTENT_TYPE
            assert answer.read().decode() == metrics.text()
        with pytest.raises(HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=10)
        assert refused.value.code == 404
        refused.value.close()
    finally:
        server.close()
