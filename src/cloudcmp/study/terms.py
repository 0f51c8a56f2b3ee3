"""The account's payments in addition to or in place of list prices: `terms` of a study, or a separate file."""

from collections.abc import Collection
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from cloudcmp.catalog import hint, nearest
from cloudcmp.model.price import Item, Purchase
from cloudcmp.model.terms import Commitment, Credit, Discount, Support, SupportTier, Terms
from cloudcmp.study import quantities
from cloudcmp.study import value_schemas as schemas
from cloudcmp.study.faults import Faults, Place, shown
from cloudcmp.study.faults import Path as Way
from cloudcmp.study.shape import Cash, Shape, Whole, Word, fit
from cloudcmp.study.tree import Tree, read_tree
from cloudcmp.units import Money, parse_ratio

_ITEMS = tuple(item.value for item in Item if item is not Item.SUPPORT)


def _exact_share(value: object) -> Decimal:
    """A share from 0 to 1 as it was written, to the last digit."""
    ratio = parse_ratio(str(value)) if isinstance(value, str) else value
    if not quantities.is_number(ratio) or not 0 <= float(str(ratio)) <= 1:
        raise ValueError(f"{shown(value)} is not between 0 and 1; write e.g. 10 % or 0.1")
    return Decimal(repr(round(float(str(ratio)), 12)))


def _day(value: object) -> date:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"{shown(value)} is no day; write e.g. until: 2027-06-30") from None


def _item(value: object) -> str:
    if value not in _ITEMS:
        close = nearest(str(value), _ITEMS)
        raise ValueError(
            f"{shown(value)} is no item; " + (f"nearest: {close}" if close else f"use {', '.join(_ITEMS)}")
        )
    return str(value)


def _months(value: object) -> int:
    number, _, unit = str(value).partition(" ")
    each = {"month": 1, "months": 1, "year": 12, "years": 12}.get(unit.strip())
    if each is None or not number.isdigit() or not 1 <= int(number) * each <= 120:
        raise ValueError(f"{shown(value)} is no term; write e.g. term: 12 months, or term: 3 years")
    return int(number) * each


def _per_hour(value: object) -> Money:
    price = quantities.price(value)
    return Money(price.amount_per_hour, price.currency)


_Share = Annotated[Decimal, BeforeValidator(_exact_share), WithJsonSchema(schemas.SHARE)]


class DiscountShape(Shape):
    """One entry of `discounts`."""

    share: _Share
    provider: Word | None = None
    item: Annotated[str, BeforeValidator(_item), WithJsonSchema({"enum": list(_ITEMS)})] | None = None


class CreditShape(Shape):
    """One entry of `credits`."""

    money: Cash
    until: Annotated[date, BeforeValidator(_day), WithJsonSchema(schemas.DAY)] | None = None
    provider: Word | None = None


class CommitmentShape(Shape):
    """One entry of `commitments`."""

    provider: Word
    region: Word | None = None
    offering: Word
    purchase: Literal["reserved", "savings"] = "reserved"
    term: Annotated[int, BeforeValidator(_months), WithJsonSchema(schemas.TERM)]
    hourly: Annotated[Money, BeforeValidator(_per_hour), WithJsonSchema(schemas.PRICE)] | None = None
    upfront: Cash | None = None
    count: Whole = 1
    os: Literal["linux", "windows"] = "linux"
    tenancy: Literal["shared", "dedicated"] = "shared"


class StepShape(Shape):
    """One share of a support plan."""

    share: _Share
    up_to: Cash | None = None


class SupportShape(Shape):
    """One entry of `support`."""

    provider: Word
    minimum: Cash
    shares: list[StepShape] = Field(default_factory=list)
    spend: Cash | None = None


class TermsShape(Shape):
    """The value of `terms`."""

    currency: Annotated[str, BeforeValidator(quantities.currency), WithJsonSchema(schemas.CURRENCY)] | None = None
    discounts: list[DiscountShape] = Field(default_factory=list)
    credits: list[CreditShape] = Field(default_factory=list)
    commitments: list[CommitmentShape] = Field(default_factory=list)
    support: list[SupportShape] = Field(default_factory=list)


def terms(data: Any, way: Way, tree: Tree, faults: Faults, providers: Collection[str]) -> Terms:
    """The terms at a path of a file; adds faults to `faults`."""
    shape = fit(TermsShape, tree, data, way, faults)
    if shape is None:
        return Terms()
    _check_names(shape, way, tree, faults, providers)
    _check_currency(shape, way, tree, faults)
    for number, one in enumerate(shape.support):
        _check_shares(one, tree.place((*way, "support", number)), faults)
    for number, own in enumerate(shape.commitments):
        if own.hourly is None and own.upfront is None:
            what = "a commitment that costs nothing: neither hourly nor upfront is written"
            faults.add(tree.place((*way, "commitments", number)), what, "write e.g. hourly: 0.06 USD/h")
    return Terms(
        discounts=tuple(Discount(one.share, one.provider or "", one.item or "") for one in shape.discounts),
        credits=tuple(Credit(one.money, one.until, one.provider or "") for one in shape.credits),
        commitments=tuple(paid for one in shape.commitments if (paid := _commitment(one))),
        support=tuple(map(_support, shape.support)),
        currency=shape.currency,
    )


def read_terms(path: Path, content: bytes, providers: Collection[str]) -> Terms:
    """The terms in a separate file, with the keys of `terms` at its top; raises UserMistake with every fault."""
    faults = Faults(str(path))
    tree = read_tree(content, faults, "write e.g. discounts: [{share: 10 %}]")
    if not isinstance(tree.data, dict):
        if tree.data is not None:
            faults.add((1, 1), "terms are made of key: value lines", "write e.g. discounts: [{share: 10 %}]")
        faults.raise_any()
    parsed = terms(tree.data, (), tree, faults, providers)
    faults.raise_any()
    return parsed


def _commitment(one: CommitmentShape) -> Commitment | None:
    """A commitment paid by the hour, at once or both; None for neither, which is a fault."""
    paid = one.hourly or one.upfront
    if paid is None:
        return None
    hourly, upfront = one.hourly or Money(Decimal(0), paid.currency), one.upfront.amount if one.upfront else Decimal(0)
    return Commitment(
        one.provider,
        one.offering,
        Purchase(one.purchase),
        one.term,
        hourly,
        upfront,
        one.region or "",
        one.count,
        one.os,
        one.tenancy,
    )


def _support(one: SupportShape) -> Support:
    steps = tuple(SupportTier(step.share, step.up_to.amount if step.up_to else None) for step in one.shares)
    return Support(one.provider, one.minimum, steps, one.spend.amount if one.spend else Decimal(0))


def _check_names(shape: TermsShape, way: Way, tree: Tree, faults: Faults, providers: Collection[str]) -> None:
    for key in ("discounts", "credits", "commitments", "support"):
        for number, one in enumerate(getattr(shape, key)):
            if one.provider is not None and one.provider not in providers:
                place = tree.place((*way, key, number, "provider"))
                advice = hint(one.provider, providers, "cloudcmp list providers")
                faults.add(place, f"unknown provider {shown(one.provider)}", advice)


def _check_currency(shape: TermsShape, way: Way, tree: Tree, faults: Faults) -> None:
    """Checks that all money of an account is in one currency."""
    amounts: list[tuple[Way, Money | None]] = []
    for number, one in enumerate(shape.credits):
        amounts.append((("credits", number, "money"), one.money))
    for number, own in enumerate(shape.commitments):
        amounts += [(("commitments", number, "hourly"), own.hourly), (("commitments", number, "upfront"), own.upfront)]
    for number, plan in enumerate(shape.support):
        amounts += [(("support", number, "minimum"), plan.minimum), (("support", number, "spend"), plan.spend)]
        amounts += [(("support", number, "shares", step, "up_to"), each.up_to) for step, each in enumerate(plan.shares)]
    currency = shape.currency
    for inner, money in amounts:
        currency = currency or (money.currency if money else None)
        if money is not None and money.currency != currency:
            what = f"{inner[-1]}: {money.currency}, but others are in {currency}"
            faults.add(tree.place((*way, *inner)), what, "write all money of the terms in one currency")


def _check_shares(one: SupportShape, place: Place, faults: Faults) -> None:
    """Checks that each share holds up to a higher sum than the one before it, and the last one without an end.

    Otherwise spend above the last sum would cost nothing more, and the worst case would be too low.
    """
    ends = [step.up_to.amount if step.up_to else None for step in one.shares]
    sums = [end for end in ends if end is not None]
    if None in ends[:-1] or sums != sorted(set(sums)) or (ends and ends[-1] is not None):
        what = "shares: the sums do not rise, one that is not the last has none, or the last one has an end"
        faults.add(place, what, "write e.g. shares: [{up_to: 10000 USD, share: 10 %}, {share: 7 %}]")
