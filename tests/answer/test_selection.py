"""What a rule did, in words."""

from dataclasses import replace
from decimal import Decimal

import pytest
from tests.analysis.planted import FMA, plan_of

from cloudcmp.answer.selection import changes, dropped_lines, end_lines, rule_text, standing_lines
from cloudcmp.model.plan import Plan
from cloudcmp.model.selection import Dropped, DropReason, Ended, EndReason, Standing, Stop, StopRule
from cloudcmp.units import Money

CERTIFY = Stop(StopRule.CERTIFY, 0.02)
SPEND = Money(Decimal(20000), "USD")
NAMES = {FMA: "floating point"}


def planned(stop: Stop | None, ended: Ended | None = None, *dropped: Dropped) -> Plan:
    return replace(plan_of(3, 8), stop=stop, ended=ended, dropped=dropped, checks=(6, 7, 8))


@pytest.mark.parametrize(
    ("stop", "standing", "text"),
    [
        (CERTIFY, Standing(FMA, False, EndReason.BEST, 1),
         "floating point: c1 is the best, or at most 2 % behind it (95 %)."),
        (CERTIFY, Standing(FMA, True, EndReason.TIE, 1, (0,)),
         "floating point, work for money: a tie, c1 and c0 are too close to call; c1 is at most 2 % behind the best "
         "(95 %)."),
        (Stop(StopRule.RANKING, 0.03), Standing(FMA, False, EndReason.RANKED, 2, order=(2, 0, 1)),
         "floating point: best first c2, c0, c1. Pairs that differ by 3 % or more are in this order (95 %)."),
        (Stop(StopRule.BUDGET, 0.0, SPEND), Standing(FMA, True, EndReason.REGRET, 0, regret=0.0012),
         "floating point, work for money: c0 leads. Choosing it is expected to lose 24.00 USD of 20000.00 USD, less "
         "than launches that would avoid it cost."),
    ],
)  # fmt: skip
def test_a_conclusion_is_a_sentence(stop: Stop, standing: Standing, text: str) -> None:
    plan = planned(stop, Ended(8, 20, (standing,)))
    assert standing_lines(plan, NAMES) == (text,)
    assert end_lines(plan) == ("stopped after 8 of 20 rounds, 24 launches",)


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        (DropReason.BEHIND, "it is behind c0 (95 %)"),
        (DropReason.NOT_BETTER, "it is at most 2 % better than c0 (95 %)"),
        (DropReason.RANKED, "its place is known, down to 2 % (95 %)"),
        (DropReason.NOT_WORTH_IT, "its launches cost more than choosing c0 instead is expected to lose"),
        (DropReason.DECIDED, "all its measurements are decided"),
    ],
)
def test_who_leaves_has_a_reason(reason: DropReason, why: str) -> None:
    plan = planned(CERTIFY, None, Dropped(2, 6, reason, 0))
    assert changes(plan, 6) == (f"c2 is not measured further: {why}",)
    assert changes(plan, 7) == ()
    assert dropped_lines(plan) == (f"c2 was not measured after round 6: {why}",)


def test_who_came_back_was_away_for_some_rounds() -> None:
    plan = planned(CERTIFY, None, Dropped(2, 6, DropReason.NOT_BETTER, 0, back=8))
    assert changes(plan, 8) == ("c2 is measured again: the leader has changed",)
    (line,) = dropped_lines(plan)
    assert line.startswith("c2 was not measured in rounds 7 to 8: ")


def test_a_study_without_a_rule_has_nothing_to_say_and_an_open_rule_says_so() -> None:
    assert (end_lines(planned(None)), standing_lines(planned(None), {})) == ((), ())
    (line,) = end_lines(planned(CERTIFY))
    assert line == f"the rule has not ended the study: it stops {rule_text(CERTIFY)}"
    tight = replace(planned(None, Ended(8, 20, ())), until=0.05)
    assert end_lines(tight) == ("stopped after 8 of 20 rounds: every interval is tight enough",)
    assert standing_lines(tight, {}) == ()
    assert "20000.00 USD" in rule_text(Stop(StopRule.BUDGET, 0.0, SPEND))
