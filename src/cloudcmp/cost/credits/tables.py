"""The credit tables of providers, from `tables.toml`."""

import tomllib
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

from cloudcmp.catalog.parameters import hint
from cloudcmp.errors import UserMistake
from cloudcmp.model.credits import ClaimWindow, Counting, CreditPeriod, CreditTable, CreditTier, Verified
from cloudcmp.units import parse_money


@cache
def credit_tables() -> tuple[CreditTable, ...]:
    """Every table, in the order of the file."""
    text = files(__package__).joinpath("tables.toml").read_text(encoding="utf-8")
    return tuple(_table(row) for row in tomllib.loads(text, parse_float=Decimal)["table"])


def credit_table(name: str) -> CreditTable:
    """The table of a name; raises UserMistake if there is none."""
    known = {one.name: one for one in credit_tables()}
    if name not in known:
        advice = hint(name, known) or "cloudcmp list credits"
        raise UserMistake.at("--credits", f"no credit table {name!r} is known", advice)
    return known[name]


def _table(row: dict[str, Any]) -> CreditTable:
    return CreditTable(
        name=row["name"],
        title=row["title"],
        provider=row["provider"],
        commitment=Decimal(row["commitment"]),
        period=CreditPeriod[row["period"]],
        counting=Counting[row["counting"]],
        unit_s=row["unit_s"],
        tiers=tuple(CreditTier(*map(Decimal, tier)) for tier in row.get("tiers", ())),
        claim_by=ClaimWindow[row["claim_by"]],
        claim_n=row["claim_n"],
        bring=tuple(row["bring"]),
        text_of=row["text_of"],
        source=row["source"],
        verified=Verified[row["verified"]],
        down=row["down"],
        minimum=parse_money(row["minimum"]) if "minimum" in row else None,
        free_hour_s=row.get("free_hour_s"),
        step_s=row.get("step_s"),
        step_percent=Decimal(row["step_percent"]) if "step_percent" in row else None,
        assumed=tuple(row.get("assumed", ())),
    )
