"""What the printed sessions of a study bear out, with scipy as a second witness and with planted documents."""

import itertools

import pytest
from scipy import stats

from cloudcmp.analysis.published import SessionEvidence, session_evidence
from cloudcmp.published import Claim, Document, Relation, Table, load

NAMES = ("Ash", "Birch", "Cedar")


def _evidence(values: dict[str, list[float]], claims: list[Claim]) -> SessionEvidence:
    rows = [
        (f"Session-{at}", *(f"{value:.1f}" for value in row))
        for at, row in enumerate(zip(*values.values(), strict=True), 1)
    ]
    rows.append(("Coefficient of Variation %", *("1%" for _ in values)))
    table = Table("1", "", "1", "1", "MB/s", ("Sessions", *values), tuple(rows))
    relation = Relation("cov", "1", tables=("1",), better="higher")
    labels = {name: name for name in values}
    found = session_evidence(Document("made", "", "", 2000, "", (table,), (relation,), tuple(claims), labels))
    assert found is not None
    return found


def _claim(kind: str, *names: str) -> Claim:
    return Claim(kind, "1", "1", kind, tables=("1",), names=names)


def test_scipy_gives_the_same_p_values_and_intervals_of_all_printed_sessions():
    evidence = session_evidence(load("deval-2017"))
    assert evidence is not None
    values = {(one.table, one.platform): one for one in evidence.values}
    assert (len(values), len(evidence.pairs)) == (56, 84)
    for pair in evidence.pairs:
        a, b = (values[pair.table, name].values for name in (pair.a, pair.b))
        assert pair.p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)
        relative = ([value / values[pair.table, name].mean for value in values[pair.table, name].values]
                    for name in (pair.a, pair.b))  # fmt: skip
        assert pair.p_spread == pytest.approx(stats.levene(*relative, center="median").pvalue, rel=1e-9)
    for one in values.values():
        low, high = stats.t.interval(0.95, 3, loc=one.mean, scale=stats.sem(one.values))
        assert (one.low, one.high) == pytest.approx((low, high), rel=1e-9)


def test_holm_is_over_all_pairs_of_all_tables():
    evidence = session_evidence(load("deval-2017"))
    assert evidence is not None
    ordered = sorted(evidence.pairs, key=lambda pair: pair.p)
    adjusted = itertools.accumulate((min(1.0, (84 - at) * pair.p) for at, pair in enumerate(ordered)), max)
    assert [pair.p_adjusted for pair in ordered] == pytest.approx(list(adjusted))


def test_what_the_thesis_prints_bears_out_eight_of_its_conclusions():
    evidence = session_evidence(load("deval-2017"))
    assert evidence is not None
    assert evidence.copies == ("30",)
    assert (sum(one.p < 0.05 for one in evidence.pairs), sum(one.p_adjusted < 0.05 for one in evidence.pairs)) == (
        64,
        49,
    )
    standing = [one for one in evidence.conclusions if one.stands]
    assert (len(standing), len(evidence.conclusions)) == (8, 37)
    assert not [one for one in standing if "consistent" in one.quote or "variab" in one.quote]


def test_a_clear_lead_stands_and_a_small_one_does_not():
    far = {"Ash": [100.0, 101.0, 99.0, 100.5], "Birch": [50.0, 51.0, 49.0, 50.5], "Cedar": [20.0, 21.0, 19.0, 20.5]}
    claims = [
        _claim("highest", "Ash"), _claim("lowest", "Ash"), _claim("lowest", "Cedar"), _claim("significant", "Ash/Birch")
    ]  # fmt: skip
    assert [one.stands for one in _evidence(far, claims).conclusions] == [True, False, True, True]
    near = {**far, "Ash": [50.9, 51.2, 49.2, 51.0]}
    assert [one.stands for one in _evidence(near, claims).conclusions] == [False, False, True, False]


def test_four_sessions_hardly_show_who_is_steadier():
    few = {"Ash": [100.0, 102.0, 98.0, 101.0], "Birch": [100.0, 130.0, 70.0, 115.0], "Cedar": [50.0, 50.1, 49.9, 50.0]}
    (said,) = _evidence(few, [_claim("steadiest", "Ash")]).conclusions
    assert (said.pairs, said.stands) == (2, False)
    many = {name: row * 8 for name, row in few.items()}
    claims = [_claim("steadiest", "Cedar"), _claim("most_variable", "Birch"), _claim("steadiest", "Ash")]
    assert [one.stands for one in _evidence(many, claims).conclusions] == [True, True, False]


def test_sentences_on_other_tables_are_not_asked():
    values = {name: [float(at) for at in range(10, 14)] for name in NAMES}
    assert _evidence(values, [_claim("times", "Ash", "Birch")]).conclusions == ()


@pytest.mark.parametrize("name", ["shah", "cloudcmp-2010", "rodamilans-2014", "delgado-2010"])
def test_a_document_without_sessions_has_no_such_evidence(name: str):
    assert session_evidence(load(name)) is None
