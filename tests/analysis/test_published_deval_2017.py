"""Deval 2017 recomputed: known results as oracles, and the complete list of what does not follow."""

from collections import Counter

import numpy as np
import pytest
import scipy
from tests.analysis.recomputed import deval, result

from cloudcmp.analysis.published import Check, Verdict

NOT_FOLLOWING = [
    ("8", "Azure", "multi", "median of table 10", "919.19", "625.575"),
    ("11", "Azure", "value", "median of table 10 / charge", "9675.68", "6585.003"),
    ("12", "Rackspace", "single", "median of table 13", "1301.53", "1374.375"),
    ("12", "Rackspace", "multi", "median of table 14", "3183.10", "3191.875"),
    ("12", "Rackspace", "all", "repeats row EC2", "2 figures", ""),
    ("15, 27, 37", "Rackspace", "charge", "charge behind 12 multi, 24 overhead, 35 throughput", "", "0.5492"),
    ("15", "Rackspace", "value", "12 multi / charge", "5811.87", "5795.885"),
    ("28", "EC2", "overhead", "bounds by table 30", "79.14", "221.835 to 351.165"),
    ("28", "GCE", "overhead", "bounds by table 30", "75.21", "212.515 to 221.445"),
    ("28", "Azure", "overhead", "bounds by table 30", "17.71", "25.055 to 38.565"),
    ("28", "Rackspace", "overhead", "bounds by table 30", "210.81", "1325.905 to 1502.465"),
    ("30", "all", "EC2", "repeats table 29 EC2", "5 figures", ""),
    ("30", "all", "GCE", "repeats table 29 GCE", "5 figures", ""),
    ("30", "all", "Azure", "repeats table 29 Azure", "5 figures", ""),
    ("30", "all", "Rackspace", "repeats table 29 Rackspace", "5 figures", ""),
    ("33", "CoV", "EC2", "sd / mean of its sessions", "33.59%", "21.200"),
    ("33", "CoV", "GCE", "sd / mean of its sessions", "3.54%", "0.089"),
    ("33", "CoV", "Azure", "sd / mean of its sessions", "0.46%", "3.415"),
    ("33", "CoV", "Rackspace", "sd / mean of its sessions", "0.25%", "0.069"),
    ("36", "CoV", "EC2", "sd / mean of its sessions", "0.08%", "0.006"),
    ("36", "CoV", "GCE", "sd / mean of its sessions", "4.58%", "1.008"),
    ("36", "CoV", "Azure", "sd / mean of its sessions", "1.37%", "3.419"),
    ("36", "CoV", "Rackspace", "sd / mean of its sessions", "5.55%", "4.391"),
    ("39", "CoV", "EC2", "sd / mean of its sessions", "0.01%", "0.0004"),
    ("39", "CoV", "GCE", "sd / mean of its sessions", "25.66%", "5.013"),
    ("39", "CoV", "Azure", "sd / mean of its sessions", "26.43%", "20.404"),
    ("39", "CoV", "Rackspace", "sd / mean of its sessions", "16.11%", "4.836"),
    ("D.1", "Rackspace/Azure", "single", "Welch's t on table 9", "0.003", "0.0003"),
    ("D.6", "all", "multi", "repeats table D.4 multi", "23 figures", ""),
]

CLAIMS_NOT_FOLLOWING = [
    ("1.3.1", "distributes the instance families across six categories", "5 are listed"),
    ("1.3.4", "six global data centers located in", "5 are listed"),
    ("4.1", "Graphical tests are aggregated", "no row for Graphical tests"),
    ("4.1", "a set of one, four, and eight concurrent copies", "no row for Shell Scripts (4 concurrent)"),
    ("4.2.1", "RAM are matched", "table 5: 1GB, 1GB, 1.75GB, 1GB"),
    ("6.1.1", "2.7 times more than that of Azure", "2.7577 times (cut off, not rounded)"),
    ("6.1.2", "The lowest performance of Amazon EC2", "EC2 1301.53, Rackspace 1301.53"),
    ("6.2.1", "17 times more", "17.724 times (cut off, not rounded)"),
    ("6.2.1", "29.5 times more", "29.595 times (cut off, not rounded)"),
    ("6.2.2", "27.6 times more", "27.69 times (cut off, not rounded)"),
    ("6.2.2", "11.4 times more", "11.478 times (cut off, not rounded)"),
    ("6.2.3", "39.6 times more", "39.704 times"),
    ("6.3.1", "22 times that of Amazon EC2", "22.691 times (cut off, not rounded)"),
    ("6.3.1", "close to their respective advertised bandwidth", "together 18 to 498 %"),
    ("6.3.1.1", "Amazon EC2 Vs Rackspace ... statistically insignificant", "50: p = 8.98327E-12"),
    ("6.3.2", "GCE allocates 8Gbps bandwidth per CPU core", "2 Gbps for each of 4"),
    ("6.3.2", "throttled at 500 Mbps", "695.06 Mbit/s"),
    ("6.3.3", "GCE allocates 16Gbps bandwidth per CPU core", "2 Gbps for each of 8"),
    ("7", "best price-per-performance value on all", "Rackspace 383.849, GCE 302.048"),
]


def test_the_complete_list_of_figures_that_do_not_follow():
    found = result().checks_with(Verdict.DOES_NOT_FOLLOW)
    assert [(c.table, c.row, c.column, c.what, c.printed, c.recomputed_text()) for c in found] == NOT_FOLLOWING


def test_the_complete_list_of_sentences_that_do_not_follow():
    found = [claim for claim in result().claims if claim.verdict is Verdict.DOES_NOT_FOLLOW]
    assert [claim.section for claim in found] == [section for section, _, _ in CLAIMS_NOT_FOLLOWING]
    for claim, (_, quote, says) in zip(found, CLAIMS_NOT_FOLLOWING, strict=True):
        assert quote in claim.quote
        assert says in claim.found


def test_how_many_of_each_verdict():
    assert Counter(check.verdict for check in result().checks) == {
        Verdict.FOLLOWS: 211,
        Verdict.DOES_NOT_FOLLOW: 29,
        Verdict.NOT_PRINTED: 212,
    }
    assert Counter(claim.verdict for claim in result().claims) == {
        Verdict.FOLLOWS: 66,
        Verdict.DOES_NOT_FOLLOW: 19,
        Verdict.NOT_PRINTED: 3,
    }


@pytest.mark.parametrize(("number", "score"), [("A.1", 357.0), ("A.2", 354.0)])
def test_the_unixbench_index_of_the_sample_outputs(number: str, score: float):
    (total,) = [c for c in result().checks if c.table == number and c.row == "index score"]
    assert total.what == "geometric mean of 12 indices"
    assert total.recomputed is not None
    assert round(total.recomputed, 1) == score
    assert total.verdict is Verdict.FOLLOWS


def test_baselines_are_those_of_the_suite():
    """The figures of pgms/index.base of UnixBench 5.1.3, the machine called George."""
    george = [116700, 55, 43, 3960, 1655, 5800, 12440, 4000, 126, 42.4, 6, 15000]
    for number in ("A.1", "A.2"):
        cells = list(deval().table(number).column("BASELINE").values())[:-1]
        assert [float(cell) for cell in cells] == george


@pytest.mark.parametrize(
    ("tables", "charges"),
    [
        ("11, 23, 34", {"EC2": 0.073, "GCE": 0.029, "Azure": 0.095, "Rackspace": 0.117}),
        ("15, 27, 37", {"EC2": 0.45, "GCE": 0.177, "Azure": 0.431, "Rackspace": 0.5492}),
        ("19, 31, 40", {"EC2": 0.44, "GCE": 0.249, "Azure": 0.643, "Rackspace": 0.5492}),
    ],
)
def test_the_charges_that_the_values_imply(tables: str, charges: dict[str, float]):
    """The divided scores are found to be the multi-threaded and the overhead ones; the text does not say so."""
    found = [c for c in result().checks if c.table == tables]
    assert all("multi" in c.what and "overhead" in c.what for c in found)
    for check in found:
        assert check.low is not None
        assert check.high is not None
        assert check.low <= charges[check.row] <= check.high, check.row
        assert check.high / check.low < 1.0001


def _cells(number: str) -> dict[str, np.ndarray]:
    table = deval().table(number)
    short = {"Amazon EC2": "EC2", "Google Compute Engine": "GCE", "Microsoft Azure": "Azure", "Rackspace": "Rackspace"}
    return {
        short[column.rpartition(" (")[0]]: np.array([float(x) for x in list(table.column(column).values())[:4]])
        for column in table.figures()
    }


def test_scipy_gives_the_same_p_values():
    checks = [c for c in result().checks if c.what.startswith("Welch's t on table")]
    assert len(checks) == 36
    for check in checks:
        first, second = check.row.split("/")
        cells = _cells(check.what.rpartition(" ")[2])
        expected = scipy.stats.ttest_ind(cells[first], cells[second], equal_var=False).pvalue
        assert check.recomputed == pytest.approx(expected, rel=1e-9)


def test_numpy_gives_the_same_medians_and_covs():
    medians = [c for c in result().checks if c.what.startswith("median of table") and "charge" not in c.what]
    covs = [c for c in result().checks if c.row == "CoV"]
    assert (len(medians), len(covs)) == (24, 60)
    for check in medians:
        expected = np.median(_cells(check.what.rpartition(" ")[2])[check.row])
        assert check.recomputed == pytest.approx(float(expected), rel=1e-12)
    for check in covs:
        x = _cells(check.table)[check.column]
        assert check.recomputed == pytest.approx(float(x.std(ddof=1) / x.mean() * 100), rel=1e-12)


def test_verdicts_are_what_the_ranges_say():
    """No verdict by hand: each one is derived again here from what the check shows."""
    decided = [c for c in result().checks if c.recomputed is not None and c.printed]
    assert len(decided) == 194
    for check in decided:
        assert check.low is not None
        assert check.high is not None
        assert check.rounding is not None
        value = float(check.printed.rstrip("%"))
        slack = 1e-12 * abs(value)
        meets = check.low <= value + check.rounding + slack and value - check.rounding <= check.high + slack
        assert check.verdict is Verdict.of(meets), check


def test_what_cannot_be_recomputed_says_why_and_shows_no_figure():
    for check in result().checks_with(Verdict.NOT_PRINTED):
        assert check.recomputed is None
        assert check.note
    by_table = Counter(check.table for check in result().checks_with(Verdict.NOT_PRINTED))
    assert by_table == {"20": 8, "24": 8, "28": 4, "32": 4, "35": 4, "38": 4, **_p_value_cells()}


def _p_value_cells() -> dict[str, int]:
    return {**{f"D.{n}": 48 for n in (4, 5, 6)}, **{f"D.{n}": 12 for n in (7, 8, 9)}}


def test_sentences_that_rest_on_a_copied_or_unread_column_are_left_open():
    open_claims = [claim for claim in result().claims if claim.verdict is Verdict.NOT_PRINTED]
    assert [claim.section for claim in open_claims] == ["6.2.3.1"] * 3
    assert ["D.6" in c.note or "30" in c.note for c in open_claims] == [True] * 3


def test_labels_fit_a_terminal():
    def width(check: Check) -> int:
        return max(len(check.row), len(check.column))

    assert max(len(check.column) for check in result().checks) <= 10
    assert max(width(check) for check in result().checks) <= 20
    assert max(len(claim.quote) for claim in result().claims) <= 96


def test_scores_are_means_of_two_runs():
    checks = [c for c in result().checks if c.what == "means of 2 scores of one decimal"]
    assert len(checks) == 24
    assert all(c.verdict is Verdict.FOLLOWS for c in checks)
