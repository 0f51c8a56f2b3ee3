"""A study's folder: what is written is read back, by this process and by the next."""

from pathlib import Path

from tests.store.conftest import CHASE, FMA, RTT, TOTALS, create, make_plan

from cloudcmp.store import StudyStore


def test_what_is_created_is_read_back(tmp_path: Path) -> None:
    with create(tmp_path / "a" / "study"):
        pass
    with StudyStore.open(tmp_path / "a" / "study", write=False) as store:
        assert store.plan == make_plan()
        assert store.study_text == "question: which?\n"
        assert store.provenance == {"cloudcmp": "0.1.0"}
        assert store.created_at == 5.0
        assert [(offering, price.currency) for *_, offering, price in store.prices()] == [("all", "USD")]


def test_values_of_trials(full: StudyStore) -> None:
    values = full.trial_values(TOTALS)
    assert values.cells == (FMA, CHASE, RTT, RTT.replace("99", "50"))
    rows = [
        (int(a), values.cells[b], bool(c), float(d))
        for a, b, c, d in zip(values.launch, values.cell, values.ok, values.value, strict=True)
    ]
    assert rows[:4] == [
        (0, FMA, True, 11.0),
        (0, CHASE, True, 21.0),
        (0, RTT, True, 0.0),
        (0, RTT.replace("99", "50"), True, 0.0),
    ]
    assert rows[5] == (1, CHASE, False, 0.0)
