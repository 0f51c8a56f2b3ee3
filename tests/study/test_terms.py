"""Terms of an account, in a study and in a file of their own."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from cloudcmp.cost.account_terms import effective_per_hour
from cloudcmp.errors import UserMistake
from cloudcmp.model.price import Purchase
from cloudcmp.model.terms import NO_TERMS, Commitment, Credit, Discount, Support, SupportTier, Terms
from cloudcmp.study import read_terms, read_text
from cloudcmp.units import Money

ALL = """\
currency: USD
discounts: [{share: 12.5 %, provider: aws, item: instance}, {share: 0.03}]
credits: [{money: 50 USD, until: 2027-06-30}]
commitments:
  - {provider: aws, region: eu, offering: m7i.large, term: 3 years, upfront: 100 USD, hourly: 0.05 USD/h, count: 2}
support:
  - {provider: aws, minimum: 100 USD, shares: [{up_to: 10000 USD, share: 10 %}, {share: 7 %}], spend: 250 USD}
"""


def usd(amount: str) -> Money:
    return Money(Decimal(amount), "USD")


WANTED = Terms(
    (Discount(Decimal("0.125"), "aws", "instance"), Discount(Decimal("0.03"))),
    (Credit(usd("50"), date(2027, 6, 30)),),
    (Commitment("aws", "m7i.large", Purchase.RESERVED, 36, usd("0.05"), Decimal(100), "eu", 2),),
    (Support("aws", usd("100"), (SupportTier(Decimal("0.10"), Decimal(10000)), SupportTier(Decimal("0.07"))),
             Decimal(250)),),
    "USD",
)  # fmt: skip


def test_terms_of_a_file_and_of_a_study_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(ALL)
    assert read_terms(tmp_path / "own.yaml", providers={"aws"}) == WANTED
    head = "schema: 1\nquestion: x\ncandidates: [{provider: aws, offering: a}]\nprobes: [{probe: fma}]\nterms:\n"
    inside = head + "".join(f"  {line}\n" for line in ALL.splitlines())
    assert read_text(inside, "s.yaml", providers={"aws"}).terms == WANTED
    assert read_text(head.removesuffix("terms:\n"), "s.yaml", providers={"aws"}).terms == NO_TERMS


def test_a_commitment_may_be_paid_all_at_once(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("commitments: [{provider: aws, offering: a, term: 1 year, upfront: 876 USD}]\n")
    (own,) = read_terms(path, providers={"aws"}).commitments
    assert (own.hourly, own.upfront) == (usd("0"), Decimal(876))
    assert effective_per_hour(own) == usd("0.1")


FAULTS = {
    "discounts: [{share: 150 %}]": "1:21: share: '150 %' is not between 0 and 1; write e.g. 10 % or 0.1",
    "discounts: [{share: -1 %}]": "1:21: share: '-1 %' is not between 0 and 1; write e.g. 10 % or 0.1",
    "discounts: [{share: x}]": "1:21: share: 'x' is not a number with its unit; write e.g. '3 %'",
    "discounts: [{shar: 1 %, share: 2 %}]": "1:14: unknown key 'shar'; nearest: share",
    "discounts: [{share: 1 %, item: disk}]": "1:32: item: 'disk' is no item; nearest: iops",
    "discounts: [{share: 1 %, provider: awz}]": "1:36: unknown provider 'awz'; nearest: aws",
    "credits: 10 USD": "1:10: credits must be a list; write credits: [{money: 50 USD, until: 2027-06-30}]",
    "discounts: 10 %": "1:12: discounts must be a list; write discounts:",
    "discount: []": "1:1: unknown key 'discount'; nearest: discounts",
    "credits: [{money: 50}]": "1:19: money: 50 needs a currency; write e.g. 5 USD",
    "credits: [{money: 5 USD, until: 2027-02-30}]": "1:33: until: '2027-02-30' is no day; write e.g. until: 2027-06-30",
    "credits: [{until: 2027-01-01}]": "1:11: money is missing; write e.g. money: 50 USD",
    "credits: [{money: 5 USD}, {money: 5 EUR}]": "1:35: money: EUR, but others are in USD; write all money",
    "currency: dollars": "1:11: currency: 'dollars' is no currency; write e.g. currency: USD",
    "commitments: [{provider: aws, offering: a, term: 5 weeks, hourly: 1 USD/h}]": "1:50: term: '5 weeks' is no term",
    "commitments: [{provider: aws, offering: a, term: 1 year, hourly: 1 USD}]": "1:66: hourly: '1 USD' is no price",
    "commitments: [{provider: aws, offering: a, term: 1 year, hourly: 1 USD/h, purchase: x}]": "1:85: purchase: this",
    "support: [{provider: aws, minimum: 1 USD, shares: [{share: 1 %}, {share: 2 %, up_to: 5 USD}]}]": "1:11: shares:",
    "support: [{provider: aws, minimum: 1 USD, shares: [{share: 1 %, up_to: 5 EUR}, {share: 1 %}]}]": "1:72: up_to",
    "support: [{provider: aws, minimum: 1 USD, shares: [{share: 1 %, up_to: 5 USD}]}]": "1:11: shares: the sums",
    "commitments: [{provider: aws, offering: a, term: 1 year}]": "1:15: a commitment that costs nothing",
    "commitments: [{provider: aws, offering: a, term: 1 year, hourly: 0 USD/h}]": "1:66: hourly: a price of zero is",
    "- 1": "1:1: terms are made of key: value lines; write e.g. discounts: [{share: 10 %}]",
}  # fmt: skip


@pytest.mark.parametrize("text", FAULTS)
def test_each_fault_is_one_line_with_its_place(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text + "\n")
    with pytest.raises(UserMistake) as caught:
        read_terms(path, providers={"aws", "gcp"})
    lines = [fault.line() for fault in caught.value.faults]
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"{path}:{FAULTS[text]}")


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("discounts: [{share: 2}]\ncredits: [{money: 1}]\n")
    with pytest.raises(UserMistake) as caught:
        read_terms(path, providers=())
    assert len(caught.value.faults) == 2
