"""The bill formats: which columns are read, and how a record becomes lines.

AWS: https://docs.aws.amazon.com/cur/latest/userguide/data-dictionary.html and table-dictionary-cur2.html. Azure:
https://learn.microsoft.com/azure/cost-management-billing/automate/understand-usage-details-fields (R). Google Cloud:
https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables (standard and detailed usage). FOCUS:
https://focus.finops.org/focus-specification/ (1.0 to 1.2; R). R: from memory, not verified. No real account's bill was
ever read.
"""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from enum import StrEnum

from cloudcmp.cost.billed import fields
from cloudcmp.cost.billed.fields import NO_TAGS, Kind, Line, Tags

Record = Mapping[str, str]
_DAY_S = 86400.0


class Format(StrEnum):
    """The format of a bill, as `--format` names it."""

    AWS = "aws-cur"
    AZURE = "azure"
    GCP = "gcp"
    FOCUS = "focus"


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a format.

    `columns` lists the columns of each field, the first one that exists counts. A file without the fields in `marks`
    has another format. `kinds` maps the type of a charge; if it maps to OTHER, the name of the charge decides.
    """

    format: Format
    columns: Mapping[str, tuple[str, ...]]
    marks: tuple[str, ...]
    kinds: Mapping[str, Kind]


AWS = Layout(
    Format.AWS,
    {
        "type": ("line_item_line_item_type",),
        "resource": ("line_item_resource_id",),
        "amount": ("line_item_unblended_cost",),
        "currency": ("line_item_currency_code",),
        "start": ("line_item_usage_start_date",),
        "end": ("line_item_usage_end_date",),
        "what": ("line_item_usage_type",),
        "more": ("line_item_line_item_description",),
        "operation": ("line_item_operation",),
        "account": ("bill_payer_account_id",),
        "invoice": ("bill_invoice_id",),
        "tags": ("resource_tags", "tags"),
    },
    ("type", "amount", "currency", "what"),
    {"tax": Kind.TAX, "credit": Kind.CREDIT, "refund": Kind.REFUND, "usage": Kind.OTHER,
     "discountedusage": Kind.OTHER, "savingsplancoveredusage": Kind.OTHER},
)  # fmt: skip
AZURE = Layout(
    Format.AZURE,
    {
        "type": ("charge_type",),
        "resource": ("resource_id", "instance_id", "instance_name"),
        "amount": ("cost_in_billing_currency", "cost", "pre_tax_cost"),
        "currency": ("billing_currency", "billing_currency_code", "currency"),
        "start": ("date", "usage_date_time", "usage_date"),
        "what": ("meter_category",),
        "more": ("meter_sub_category", "meter_subcategory"),
        "meter": ("meter_name",),
        "account": ("billing_account_id", "subscription_id", "subscription_guid"),
        "invoice": ("invoice_id",),
        "tags": ("tags",),
    },
    ("amount", "currency", "start", "what", "meter"),
    {"tax": Kind.TAX, "credit": Kind.CREDIT, "refund": Kind.REFUND, "usage": Kind.OTHER, "": Kind.OTHER},
)
GCP = Layout(
    Format.GCP,
    {
        "type": ("cost_type",),
        "resource": ("resource_name", "resource_global_name"),
        "amount": ("cost",),
        "currency": ("currency",),
        "start": ("usage_start_time",),
        "end": ("usage_end_time",),
        "what": ("sku_description",),
        "more": ("service_description",),
        "account": ("billing_account_id",),
        "tags": ("labels",),
        "credits": ("credits",),
        "exported": ("export_time",),
    },
    ("amount", "currency", "start", "end", "what"),
    {"tax": Kind.TAX, "regular": Kind.OTHER, "": Kind.OTHER},
)
FOCUS = Layout(
    Format.FOCUS,
    {
        "type": ("charge_category",),
        "class": ("charge_class",),
        "resource": ("resource_id",),
        "amount": ("billed_cost",),
        "currency": ("billing_currency",),
        "start": ("charge_period_start",),
        "end": ("charge_period_end",),
        "what": ("charge_description",),
        "more": ("resource_type",),
        "meter": ("sku_meter",),
        "sku": ("sku_id",),
        "account": ("billing_account_id",),
        "invoice": ("invoice_id",),
        "tags": ("tags",),
    },
    ("type", "amount", "currency", "start"),
    {"tax": Kind.TAX, "credit": Kind.CREDIT, "usage": Kind.OTHER},
)
LAYOUTS = {one.format: one for one in (FOCUS, AWS, AZURE, GCP)}


def layout_of(columns: Mapping[str, int]) -> Layout | None:
    """Returns the format of a file from its columns (plain names), None if unknown."""
    for layout in LAYOUTS.values():
        if all(any(name in columns for name in layout.columns[mark]) for mark in layout.marks):
            return layout
    return None


def tags_of(record: Record) -> Tags:
    """Returns our tags of a record, from columns of their own or the one with all tags."""
    if record.get("study"):
        return Tags(record["study"], record.get("slot", ""), record.get("attempt", ""))
    return fields.tags_in(record["tags"]) if record.get("tags") else NO_TAGS


def kind_of(layout: Layout, record: Record) -> Kind:
    """Returns the kind of a record: by the type of its charge, for usage by the name of the charge."""
    kind = layout.kinds.get(record.get("type", "").strip().lower(), Kind.ADJUSTMENT)
    if layout.format is Format.FOCUS and record.get("class", "").strip().lower() == "correction":
        return Kind.ADJUSTMENT
    if kind is not Kind.OTHER:
        return kind
    words = " ".join(record.get(name, "") for name in ("what", "more", "meter", "resource"))
    # An id may contain any word, so it is only searched last.
    kind = fields.kind_of(" ".join(record.get(name, "") for name in ("what", "more", "meter")))
    return kind if kind is not Kind.OTHER else fields.kind_of(words) if layout.format is Format.AZURE else kind


def lines(layout: Layout, record: Record, tags: Tags) -> tuple[Line, ...]:
    """Returns the lines of a record: one, and in Google's exports one for each of its credits.

    Raises ValueError for an invalid amount, currency or time.
    """
    start = fields.seconds(record.get("start", ""))
    end = fields.seconds(record["end"]) if "end" in record else (None if start is None else start + _DAY_S)
    line = Line(
        resource=record.get("resource", "").strip(),
        kind=kind_of(layout, record),
        what=_what(layout, record),
        amount=fields.amount(record["amount"]),
        currency=fields.currency(record["currency"]),
        start=start,
        end=end,
        tags=tags,
        account=record.get("account", ""),
        invoiced=bool(record["invoice"].strip()) if "invoice" in record else None,
        identity=_identity(layout, record, (start, end), tags),
    )
    return (line, *_credits(line, record)) if record.get("credits") else (line,)


def _what(layout: Layout, record: Record) -> str:
    names = ("what", "meter") if layout.format is Format.AZURE else ("what",)
    return ", ".join(filter(None, map(record.get, names)))


def _identity(layout: Layout, record: Record, times: tuple[float | None, float | None], tags: Tags) -> tuple[str, ...]:
    """Returns what two deliveries of the same line have in common; its amount may be corrected.

    Google's export only adds lines, also for corrections: there all values of a line must be equal.
    """
    names = ("account", "resource", "type", "what", "more", "operation", "meter", "sku")
    values = [*(record.get(name, "").strip() for name in names), *map(str, times)]
    if layout.format is Format.GCP:
        exported = fields.seconds(record.get("exported", ""))
        values += [f"{fields.amount(record['amount']).normalize():f}", str(exported), *astuple(tags)]
    return tuple(values)


def _credits(line: Line, record: Record) -> tuple[Line, ...]:
    """Returns Google's credits, a list within the line: objects with a name and a negative amount."""
    text = record["credits"].strip()
    try:
        entries = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        amounts = [(str(one.get("name") or one.get("type") or "credit"), one["amount"]) for one in entries]
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        raise ValueError(f"its credits cannot be read: {text[:60]!r}") from None
    return tuple(
        replace(line, kind=Kind.CREDIT, what=name, amount=fields.amount(str(value)), identity=(*line.identity, str(at)))
        for at, (name, value) in enumerate(amounts)
    )
