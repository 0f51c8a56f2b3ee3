"""Delivered over advertised, from a file to its report: planted shares come back, and a planted cap is named."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from cloudcmp.model.promise import Delivered, Delivery, Promised
from cloudcmp.model.view import View
from cloudcmp.report import comparison, documents, html
from cloudcmp.report.report_model import StudyView
from cloudcmp.report.sheets import advertised

from .planted import measured_study

STUDY = """\
schema: 1
question: Do we get what is promised?
candidates:
  - provider: simulated
    region: nimbus
    offering: small
    advertised:
      - {of: network, baseline: 1 Gbit/s, up_to: 10 Gbit/s, source: "planted, from 12.0.0.9", as_of: 2026-11-01}
      - {of: volume_iops, up_to: 3000, source: planted}
      - {of: volume_throughput, up_to: 1 GB/s, source: planted}
    truth:
      cells:
        tcp_bytes_per_s streams=1: {mean: 750 MB/s, cov: 1 %, between: 1 %}
        tcp_bytes_per_s streams=50: {mean: 9.45 Gbit/s, cov: 0.1 %, between: 0.1 %}
        disk_op_per_s op=read;block_bytes=4096: {mean: 2990 op/s, cov: 0.1 %, between: 0.1 %}
        disk_op_per_s op=write;block_bytes=4096: {mean: 1200 op/s, cov: 1 %, between: 1 %}
  - {provider: simulated, region: stratus, offering: small}
probes:
  - {probe: tcp, params: {path: zone, streams: [1, 50]}}
  - {probe: disk, params: {op: [read, write], pattern: random, block_bytes: [4096, 1048576]}}
launches: 8
runs: 2
"""


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> View:
    """One study of two candidates, of which one has promises."""
    return measured_study(STUDY, tmp_path_factory.mktemp("advertised"), 7)


def of_kind(view: View, of: Promised, op: str = "") -> Delivered:
    (one,) = (one for one in view.delivered if one.promise.of is of and f"op={op}" in one.cell + " op=")
    return one


def test_planted_shares_lie_in_their_intervals(view: View) -> None:
    assert {one.candidate for one in view.delivered} == {0}
    for one, share in (
        (of_kind(view, Promised.NETWORK), 0.945),
        (of_kind(view, Promised.VOLUME_IOPS, "read"), 2990 / 3000),
        (of_kind(view, Promised.VOLUME_IOPS, "write"), 0.4),
    ):
        assert one.of_up_to_bounds is not None
        assert one.of_up_to_bounds.low <= share <= one.of_up_to_bounds.high
        assert one.n == 8


def test_the_planted_cap_is_named_and_what_lies_below_it_is_not(view: View) -> None:
    network = of_kind(view, Promised.NETWORK)
    assert (network.delivery, network.settings, "streams=50" in network.cell) == (Delivery.AT_CAP, 2, True)
    assert of_kind(view, Promised.VOLUME_IOPS, "read").delivery is Delivery.AT_CAP
    assert of_kind(view, Promised.VOLUME_IOPS, "write").delivery is Delivery.UNDER_CAP
    assert advertised.delivery_words(network) == "runs into the promised cap of 10.0 Gbit/s"


def test_the_report_shows_the_promise_its_source_and_what_was_delivered(view: View) -> None:
    page = html.render(view)
    section = page[page.index('<div id="advertised">') :]
    section = re.sub(r"<[^>]+>", " ", section[: section.index("</section>")].replace("<wbr>", ""))
    for words in (
        "SIMULATED",
        "network: 1.00 Gbit/s, up to 10.0 Gbit/s", "2026-11-01", "runs into the promised cap of 10.0 Gbit/s",
        "the fastest of 2 settings", "planted, undated", "headers are not counted", "shows as 9.41 Gbit/s",
    ):  # fmt: skip
        assert words in section
    assert "1.00 Gbit/s, up to 10.0 Gbit/s" in page[page.index('<div id="hosts">') :].replace("<wbr>", "")


def test_the_terminal_shows_it_in_a_table(view: View) -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    comparison.show(console, view)
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert "Delivered over advertised (TCP payload, without headers)" in text
    assert "9.45 Gbit/s" in text
    nothing = replace(view, delivered=())
    assert advertised.sheets(StudyView.of(nothing)) == ()
    assert 'id="advertised"' not in html.render(nothing)


def test_the_document_has_the_figures_and_ids_are_hidden(view: View) -> None:
    found = documents.comparison(view)["delivered"]
    assert [one.candidate for one in found] == [0] * 5
    assert found[0].promise.source.startswith("planted, from address-")
    assert "12.0.0.9" not in str(view)
