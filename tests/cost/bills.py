"""Bills made by hand from the documented columns, for tests. None is of a real account: no real bill was ever seen."""

import csv
import gzip
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

MONTH = "2026-11-01T00:00:00Z"
NOVEMBER_9 = datetime(2026, 11, 9, 10, tzinfo=UTC).timestamp()
HOUR_S = 3600.0


@dataclass(frozen=True)
class Usage:
    """What a test says was used, in the words of no provider."""

    resource: str
    amount: str
    kind: str = "machine"
    study: str = ""
    slot: str = ""
    start: float = NOVEMBER_9
    hours: int = 1
    currency: str = "USD"
    type: str = "usage"
    invoice: str = ""


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _tags(one: Usage) -> dict[str, str]:
    found = {"cloudcmp:study": one.study, "cloudcmp:slot": one.slot, "cloudcmp:attempt": "1" if one.slot else ""}
    return {key: value for key, value in found.items() if value}


_AWS_WHAT = {
    "machine": ("USE1-BoxUsage:t3.micro", "On Demand Linux t3.micro Instance Hour"),
    "disk": ("EBS:VolumeUsage.gp3", "GB-month of General Purpose (gp3) provisioned storage"),
    "address": ("PublicIPv4:InUseAddress", "In-use public IPv4 address per hour"),
    "traffic": ("USE1-DataTransfer-Out-Bytes", "first 10 TB data transfer out"),
    "other": ("USE1-Requests-Tier1", "requests"),
}
_AWS_TYPE = {"usage": "Usage", "tax": "Tax", "credit": "Credit", "refund": "Refund", "fee": "EdpDiscount"}


def aws_rows(used: Sequence[Usage]) -> list[dict[str, str]]:
    """Records under the names of the legacy report."""
    return [
        {
            "identity/LineItemId": f"line{at}",
            "bill/InvoiceId": one.invoice,
            "bill/PayerAccountId": "123456789012",
            "bill/BillingPeriodStartDate": MONTH,
            "lineItem/LineItemType": _AWS_TYPE[one.type],
            "lineItem/UsageStartDate": iso(one.start),
            "lineItem/UsageEndDate": iso(one.start + one.hours * HOUR_S),
            "lineItem/UsageType": _AWS_WHAT[one.kind][0],
            "lineItem/ResourceId": one.resource,
            "lineItem/CurrencyCode": one.currency,
            "lineItem/UnblendedCost": one.amount,
            "lineItem/LineItemDescription": _AWS_WHAT[one.kind][1],
            "resourceTags/user:cloudcmp:attempt": _tags(one).get("cloudcmp:attempt", ""),
            "resourceTags/user:cloudcmp:slot": one.slot,
            "resourceTags/user:cloudcmp:study": one.study,
        }
        for at, one in enumerate(used)
    ]


def aws2_rows(used: Sequence[Usage]) -> list[dict[str, str]]:
    """Records of the second version: names in small letters, tags in one map."""
    found = []
    for one, old in zip(used, aws_rows(used), strict=True):
        row = {
            key.replace("/", "_").replace("lineItem", "line_item"): value
            for key, value in old.items() if not key.startswith("resourceTags")
        }  # fmt: skip
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in "\n".join(row)).replace("__", "_").split("\n")
        tags = {f"user_{key.replace(':', '_')}": value for key, value in _tags(one).items()}
        found.append({**dict(zip(snake, row.values(), strict=True)), "resource_tags": json.dumps(tags)})
    return found


_AZURE_WHAT = {
    "machine": ("Virtual Machines", "Dsv5 Series", "D2s v5"),
    "disk": ("Storage", "Premium SSD Managed Disks", "P4 LRS Disk"),
    "address": ("Virtual Network", "IP Addresses", "Standard IPv4 Static Public IP"),
    "traffic": ("Bandwidth", "Rtn Preference: MGN", "Standard Data Transfer Out"),
    "other": ("Key Vault", "", "Operations"),
}
_AZURE_TYPE = {"usage": "Usage", "tax": "Tax", "credit": "Credit", "refund": "Refund", "fee": "RoundingAdjustment"}


def azure_rows(used: Sequence[Usage]) -> list[dict[str, str]]:
    """Records of a cost export: days in American order, tags as the inside of a JSON object."""
    return [
        {
            "InvoiceId": one.invoice,
            "BillingAccountId": "84710000",
            "Date": datetime.fromtimestamp(one.start, UTC).strftime("%m/%d/%Y"),
            "MeterCategory": _AZURE_WHAT[one.kind][0],
            "MeterSubCategory": _AZURE_WHAT[one.kind][1],
            "MeterName": _AZURE_WHAT[one.kind][2],
            "ResourceId": f"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/x/{one.resource}".upper(),
            "ChargeType": _AZURE_TYPE[one.type],
            "CostInBillingCurrency": one.amount,
            "BillingCurrency": one.currency,
            "Tags": ",".join(f'"{key}": "{value}"' for key, value in _tags(one).items()),
        }
        for one in used
    ]


_GCP_WHAT = {
    "machine": "N2 Instance Core running in Americas",
    "disk": "Balanced PD Capacity",
    "address": "External IP Charge on a Standard VM",
    "traffic": "Network Internet Data Transfer Out from Americas",
    "other": "Licensing Fee",
}


def hash_of(name: str) -> int:
    """A number such as Google gives to what has a name."""
    return int.from_bytes(name.encode()[:8], "big")


def gcp_rows(used: Sequence[Usage]) -> list[dict[str, object]]:
    """Records of the detailed export as BigQuery writes them: a credit is within the line that it lowers."""
    return [
        {
            "billing_account_id": "010101-F0FFF0-10XX01",
            "service": {"id": "6F81-5844-456A", "description": "Compute Engine"},
            "sku": {"id": "AAAA-BBBB-CCCC", "description": _GCP_WHAT[one.kind]},
            "usage_start_time": iso(one.start).replace("T", " ").replace("Z", " UTC"),
            "usage_end_time": iso(one.start + one.hours * HOUR_S).replace("T", " ").replace("Z", " UTC"),
            "labels": [{"key": key.replace(":", "-"), "value": value} for key, value in _tags(one).items()],
            "cost": float(one.amount) if one.type != "credit" else 0.0,
            "currency": one.currency,
            "credits": [{"name": "trial", "amount": float(one.amount)}] if one.type == "credit" else [],
            "cost_type": "tax" if one.type == "tax" else "regular",
            "resource": {
                "name": one.resource,
                "global_name": f"//compute.googleapis.com/z/instance/{hash_of(one.resource)}",
            },
            "export_time": "2026-11-10 00:00:00 UTC",
        }
        for one in used
    ]


_FOCUS_TYPE = {"usage": "Usage", "tax": "Tax", "credit": "Credit", "refund": "Adjustment", "fee": "Adjustment"}


def focus_rows(used: Sequence[Usage]) -> list[dict[str, str]]:
    """Records under the columns that versions 1.0, 1.1 and 1.2 share."""
    return [
        {
            "BilledCost": one.amount,
            "BillingAccountId": "123456789012",
            "BillingCurrency": one.currency,
            "BillingPeriodStart": MONTH,
            "ChargeCategory": _FOCUS_TYPE[one.type],
            "ChargeClass": "",
            "ChargeDescription": _AWS_WHAT[one.kind][1],
            "ChargePeriodStart": iso(one.start),
            "ChargePeriodEnd": iso(one.start + one.hours * HOUR_S),
            "ProviderName": "AWS",
            "ResourceId": f"arn:aws:ec2:us-east-1:123456789012:instance/{one.resource}",
            "SkuId": one.kind,
            "Tags": json.dumps(_tags(one)),
        }
        for one in used
    ]


def csv_of(rows: Sequence[dict[str, object]]) -> str:
    """Records as CSV; as a query flattens them."""
    flat = [dict(_flat(row)) for row in rows]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(flat[0]))
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _flat(row: dict[str, object]) -> Iterator[tuple[str, object]]:
    """A record as a query writes it into one table: fields within fields with a dot, lists as JSON."""
    for key, one in row.items():
        if isinstance(one, dict):
            yield from ((f"{key}.{inner}", value) for inner, value in one.items())
        else:
            yield key, json.dumps(one) if isinstance(one, list) else one


def write(path: Path, rows: Sequence[dict[str, object]], *, modified: float | None = None) -> Path:
    """A file of a bill: by its ending CSV, gzip, one JSON object a line, or Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    elif path.suffix == ".ndjson":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(csv_of(rows).encode()))
    else:
        path.write_text(csv_of(rows), encoding="utf-8-sig")
    if modified is not None:
        os.utime(path, (modified, modified))
    return path
