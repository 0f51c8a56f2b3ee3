"""What the table of iozone promises: sizes that go together, times, and a short form that is one."""

from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.catalog import PROBES, expected_s, fill, refusal, suite_of
from cloudcmp.catalog.tables.iozone import _FILES, _RECORDS

POWERS = st.integers(9, 30).map(lambda power: str(2**power))


def test_the_automatic_mode_is_the_products_of_iozone_less_those_of_records_above_their_files() -> None:
    members = suite_of("iozone-auto")
    pairs = [(int(size), int(record)) for _, params in members for size in params["file_bytes"]
             for record in params["record_bytes"]]  # fmt: skip
    assert {size for size, _ in pairs} == {2**power for power in range(16, 30)} == set(_FILES)
    assert {record for _, record in pairs} == {2**power for power in range(12, 25)} == set(_RECORDS)
    assert all(record <= size for size, record in pairs)
    assert min(record for size, record in pairs if size >= 2**25) == 65536
    assert all((size, 4096) in pairs for size in _FILES if size < 2**25)
    assert len(pairs) == len(set(pairs)) == 126
    assert all(len(params["op"]) == 9 for _, params in members)


@given(size=POWERS, record=POWERS)
def test_a_record_larger_than_its_file_is_refused_and_no_short_form_has_one(size: str, record: str) -> None:
    said, _ = refusal("iozone", {"file_bytes": size, "record_bytes": record})
    assert bool(said) is (int(record) > min(int(size), 64 * 2**20))
    short = {param.name: int(param.short) for param in PROBES["iozone"].params if param.short is not None}
    shorter = {
        "file_bytes": str(min(int(size), short["file_bytes"])),
        "record_bytes": str(min(int(record), short["record_bytes"])),
    }
    assert bool(said) or not refusal("iozone", shorter)[0]


def test_other_things_that_do_not_go_together_are_refused() -> None:
    assert "mixed" in refusal("iozone", {"op": "mixed"})[0]
    assert refusal("iozone", {"op": "mixed", "threads": "2"}) == ("", "")
    assert "drop=all" in refusal("iozone", {"drop": "all", "durability": "cached"})[0]
    assert "no record" in refusal("iozone", {"record_bytes": "1000", "durability": "direct"})[0]
    assert refusal("stream", {}) == ("", "")


def test_a_trial_is_expected_to_take_what_its_bytes_and_records_take() -> None:
    def seconds(**params: str) -> float:
        return expected_s("iozone", fill("iozone", params))

    large = {"file_bytes": "3400000000", "record_bytes": "4096", "threads": "5"}
    assert seconds(**large, op="random_write", durability="osync") == 5 * 34 + 600 + 0.05
    assert seconds(**large, op="random_write", most_s="2") == 5 * 34 + 2 + 0.05
    assert seconds(file_bytes="524288", record_bytes="4096", durability="cached") < 0.1
    assert seconds(op="read", file_bytes="1048576") > seconds(op="read", file_bytes="1048576", durability="cached")
