"""The `advertised` of a candidate: rates with their source and date, and what is wrong with others."""

from datetime import date

import pytest
from tests.study.corpus import PROVIDERS

from cloudcmp.errors import UserMistake
from cloudcmp.model.promise import Promise, Promised
from cloudcmp.model.study import Study
from cloudcmp.study import read_text


def study(advertised: str, provider: str = "simulated") -> Study:
    text = f"""schema: 1
question: x
probes: [{{probe: fma}}]
budget: 5 USD
candidates:
  - provider: {provider}
    offering: small
    advertised: {advertised}
"""
    return read_text(text, "small.yaml", providers=PROVIDERS)


def test_rates_are_read_in_their_units_with_source_and_date() -> None:
    [one] = study(
        "[{of: network, baseline: 5 Gbit/s, up_to: 1.25 GB/s, source: its  data\n      sheet, as_of: 2026-11-01},"
        " {of: volume_iops, up_to: 3000, op: write, source: mail}]"
    ).candidates
    assert one.promises == (
        Promise(Promised.NETWORK, 6.25e8, 1.25e9, "its data sheet", date(2026, 11, 1)),
        Promise(Promised.VOLUME_IOPS, None, 3000.0, "mail", None, "write"),
    )


@pytest.mark.parametrize(
    ("advertised", "words"),
    [
        ("{of: network}", "is no list of promises; write advertised: [{of: network"),
        ("[]", "is no list of promises"),
        ("[{of: netwerk, up_to: 1 Gbit/s, source: x}]", "'netwerk' is not promised by anybody; write one of network,"),
        ("[{of: network, upto: 1 Gbit/s, source: x}]", "unknown key 'upto'; nearest: up_to"),
        ("[{of: network, source: x}]", "of: network has no rate; write baseline: or up_to:"),
        ("[{of: network, up_to: 1 Gbit/s}]", "a promise needs its source"),
        ("[{of: network, up_to: 10, source: x}]", "up_to: 10 needs a unit of rate; write e.g. up_to: 10 Gbit/s"),
        ("[{of: network, up_to: 3000 IOPS, source: x}]", "'3000 IOPS' needs a unit of rate"),
        ("[{of: volume_iops, baseline: 10 MB/s, source: x}]", "'10 MB/s' is no number of operations a second"),
        ("[{of: network, up_to: 0 Gbit/s, source: x}]", "a promise of zero is an unknown one"),
        ("[{of: volume_iops, up_to: 0, source: x}]", "a promise of zero is an unknown one"),
        ("[{of: network, baseline: 2 Gbit/s, up_to: 1 Gbit/s, source: x}]", "up_to is less than baseline"),
        ("[{of: network, up_to: 1 Gbit/s, op: read, source: x}]", "op: 'read' is no direction of a disk"),
        ("[{of: network, up_to: 1 Gbit/s, source: x, as_of: soon}]", "as_of: 'soon' is no day"),
        (
            "[{of: network, up_to: 1 Gbit/s, source: x}, {of: network, baseline: 1 Gbit/s, source: x}]",
            "of: network is promised twice",
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(advertised: str, words: str) -> None:
    with pytest.raises(UserMistake) as told:
        study(advertised)
    lines = str(told.value).splitlines()
    assert len(lines) == 1
    assert words in lines[0]
    assert lines[0].startswith("small.yaml:8:")


def test_a_service_has_no_promises_of_a_machine() -> None:
    text = (
        "schema: 1\nquestion: x\nprobes: [{probe: blob}]\ncandidates: [{provider: simulated, service: blob, "
        "from: {offering: small}, advertised: [{of: network, up_to: 1 Gbit/s, source: x}]}]\n"
    )
    with pytest.raises(UserMistake, match="advertised is not a service's"):
        read_text(text, "small.yaml", providers=PROVIDERS)
