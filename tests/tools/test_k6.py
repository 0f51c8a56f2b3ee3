"""k6: the summary in its two forms, in SI units, and what contradicts itself in it."""

import json
from typing import Any

import pytest

from tests.tools.outputs import reports, sample, values, why

SECONDS = 30.0127


def test_the_exported_summary() -> None:
    (report,) = reports("k6", sample("k6-export.json"))
    assert values(report) == pytest.approx(
        {"requests": 30072 / SECONDS, "latency_mean": 12.84e-3, "latency_p50": 10.92e-3, "latency_p90": 21.4e-3,
         "latency_p95": 29.75e-3, "latency_p99": 64.1e-3, "failed": 32 / 30072}
    )  # fmt: skip
    assert report.settings == {"vus": "20"}
    assert not report.unread


def test_the_document_of_handle_summary() -> None:
    (report,) = reports("k6", sample("k6-handle-summary.json"))
    found = values(report)
    assert found["requests"] == pytest.approx(30072 / SECONDS)
    assert found["latency_p95"] == pytest.approx(29.75e-3)
    assert found["failed"] == 0.0
    assert "latency_p99" not in found
    # The number of users grew from 10 to 50: it is no setting of the run.
    assert report.settings == {}
    assert report.unread == ("http_req_duration_name_login_",)


def _put(document: str, at: str, **new: Any) -> str:
    whole = json.loads(sample(document))
    of = whole["metrics"][at]
    of.get("values", of).update(new)
    return json.dumps(whole)


FLAT, FULL = "k6-export.json", "k6-handle-summary.json"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (_put(FULL, "http_reqs", rate=10.0), "does not follow"),
        (_put(FLAT, "http_reqs", rate=0), "is not above zero"),
        (_put(FLAT, "http_req_failed", value=0.5), "does not follow"),
        (_put(FULL, "http_req_failed", rate=2), "is no share"),
        (_put(FLAT, "http_req_duration", med=30.0), "do not grow"),
        (_put(FULL, "http_req_duration", max=1.0), "the largest latency"),
        (_put(FULL, "http_req_duration", avg="12 ms"), "is not a number"),
        (json.dumps({"metrics": {"http_req_duration": 5}}), "has no http_reqs"),
        (json.dumps({"version": "1.0.0", "results": {"metrics": ["http_req_duration"]}}), "machine-readable"),
        (sample(FLAT)[:900], "cut or broken"),
    ],
)
def test_a_doubtful_summary_is_one_line(text: str, says: str) -> None:
    assert says in why("k6", text)
