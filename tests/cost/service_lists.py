"""Price lists of storage services, written here in the shapes that the providers document. Amounts are made up."""

import csv
import io
import json
from decimal import Decimal
from typing import Any

AMAZON = ("AmazonS3", "AmazonDynamoDB", "AWSQueueService")
_COLUMNS = ("SKU", "OfferTermCode", "TermType", "EffectiveDate", "StartingRange", "EndingRange", "Unit", "PricePerUnit",
            "Currency", "Product Family", "serviceCode", "Location Type", "Volume Type", "Queue Type", "usageType",
            "operation", "Region Code", "From Region Code", "From Location Type", "Transfer Type")  # fmt: skip


def amazon_row(offer: str, sku: str, usage: str, unit: str, price: str, **more: str) -> dict[str, str]:
    """One row of an offer file; `more` has underscores for the blanks of column names."""
    row = {
        "SKU": sku, "OfferTermCode": "JRTCKXETXF", "TermType": "OnDemand", "EffectiveDate": "2026-11-01",
        "StartingRange": "0", "EndingRange": "Inf", "Unit": unit, "PricePerUnit": price, "Currency": "USD",
        "serviceCode": offer, "Location Type": "AWS Region", "usageType": usage, "Region Code": "eu-central-1",
    }  # fmt: skip
    return {**dict.fromkeys(_COLUMNS, ""), **row, **{key.replace("_", " "): value for key, value in more.items()}}


S3 = [
    amazon_row("AmazonS3", "S3PUT", "EUC1-Requests-Tier1", "Requests", "0.0000054000"),
    amazon_row("AmazonS3", "S3GET", "EUC1-Requests-Tier2", "Requests", "0.0000004300"),
    amazon_row("AmazonS3", "S3IA", "EUC1-Requests-SIA-Tier1", "Requests", "0.0000100000"),
    amazon_row("AmazonS3", "S3TAB", "EUC1-Tables-Requests-Tier1", "Requests", "0.0000500000"),
    amazon_row("AmazonS3", "S3STO", "EUC1-TimedStorage-ByteHrs", "GB-Mo", "0.0245", Volume_Type="Standard",
               EndingRange="51200"),
    amazon_row("AmazonS3", "S3STO", "EUC1-TimedStorage-ByteHrs", "GB-Mo", "0.0235", Volume_Type="Standard",
               StartingRange="51200"),
    amazon_row("AmazonS3", "S3INT", "EUC1-TimedStorage-ByteHrs", "GB-Mo", "0.021", Volume_Type="Intelligent-Tiering"),
    amazon_row("AmazonS3", "S3OUT", "EUC1-DataTransfer-Out-Bytes", "GB", "0.09", Product_Family="Data Transfer",
               From_Region_Code="eu-central-1", Transfer_Type="AWS Outbound"),
]  # fmt: skip
DYNAMODB = [
    amazon_row("AmazonDynamoDB", "DDBW", "EUC1-WriteRequestUnits", "WriteRequestUnits", "0.0000007625"),
    amazon_row("AmazonDynamoDB", "DDBR", "EUC1-ReadRequestUnits", "ReadRequestUnits", "0.0000001525"),
    amazon_row("AmazonDynamoDB", "DDBIA", "EUC1-IA-WriteRequestUnits", "WriteRequestUnits", "0.0000010000"),
    amazon_row("AmazonDynamoDB", "DDBIA2", "IA-ReadRequestUnits", "ReadRequestUnits", "0.0000002000"),
    amazon_row("AmazonDynamoDB", "DDBWC", "EUC1-WriteCapacityUnit-Hrs", "WriteCapacityUnit-Hrs", "0.0000000000",
               EndingRange="18600"),
    amazon_row("AmazonDynamoDB", "DDBWC", "EUC1-WriteCapacityUnit-Hrs", "WriteCapacityUnit-Hrs", "0.000793",
               StartingRange="18600"),
    amazon_row("AmazonDynamoDB", "DDBST", "EUC1-TimedStorage-ByteHrs", "GB-Mo", "0.306"),
]  # fmt: skip
SQS = [
    amazon_row("AWSQueueService", "SQS", "EUC1-Requests-RBP", "Requests", price, Queue_Type="Standard",
               StartingRange=begin, EndingRange=end)
    for begin, end, price in (("0", "100000000000", "0.0000004000"), ("100000000000", "Inf", "0.0000003000"))
] + [
    amazon_row("AWSQueueService", "FIFO", "EUC1-Requests-FIFO-RBP", "Requests", "0.0000005",
               Queue_Type="FIFO (first-in, first-out)"),
]  # fmt: skip
_OFFERS = dict(zip(AMAZON, (S3, DYNAMODB, SQS), strict=True))


def amazon(offer: str, rows: list[dict[str, str]] | None = None) -> bytes:
    """An offer file as CSV."""
    text = io.StringIO()
    text.write('"FormatVersion","v1.0"\n"Disclaimer","Made up"\n"Publication Date","2026-11-20T21:10:05Z"\n')
    text.write(f'"Version","20261120211005"\n"OfferCode","{offer}"\n')
    table = csv.DictWriter(text, _COLUMNS, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writeheader()
    table.writerows(_OFFERS[offer] if rows is None else rows)
    return text.getvalue().encode()


def amazon_json(offer: str) -> bytes:
    """The same offer file as JSON."""
    products: dict[str, Any] = {}
    terms: dict[str, Any] = {}
    for row in _OFFERS[offer]:
        attributes = {
            "servicecode": row["serviceCode"], "locationType": row["Location Type"], "usagetype": row["usageType"],
            "regionCode": row["Region Code"], "volumeType": row["Volume Type"], "queueType": row["Queue Type"],
        }  # fmt: skip
        products[row["SKU"]] = {"productFamily": row["Product Family"], "attributes": attributes}
        term = terms.setdefault(row["SKU"], {}).setdefault(
            f"{row['SKU']}.JRTCKXETXF",
            {"offerTermCode": "JRTCKXETXF", "effectiveDate": row["EffectiveDate"], "priceDimensions": {}},
        )
        rate = {"unit": row["Unit"], "beginRange": row["StartingRange"], "endRange": row["EndingRange"],
                "pricePerUnit": {"USD": row["PricePerUnit"]}}  # fmt: skip
        term["priceDimensions"][f"{row['SKU']}.{len(term['priceDimensions'])}"] = rate
    document = {"publicationDate": "2026-11-20T21:10:05Z", "products": products, "terms": {"OnDemand": terms}}
    return json.dumps(document).encode()


def azure_item(product: str, sku: str, meter: str, unit: str, price: float, **more: Any) -> dict[str, Any]:
    """One item of Azure's retail prices."""
    return {
        "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": price, "unitPrice": price,
        "armRegionName": "westeurope", "effectiveStartDate": "2026-03-01T00:00:00Z", "meterName": meter,
        "skuId": f"{product}/{sku}/{meter}", "productName": product, "skuName": sku, "serviceName": "Storage",
        "unitOfMeasure": unit, "type": "Consumption", "armSkuName": "", **more,
    }  # fmt: skip


_BLOB, _HOT = "General Block Blob v2", "Hot LRS"
AZURE = [
    azure_item(_BLOB, _HOT, "Hot LRS Write Operations", "10K", 0.054),
    azure_item(_BLOB, _HOT, "Hot Read Operations", "10K", 0.0043),
    azure_item(_BLOB, _HOT, "LRS List and Create Container Operations", "10K", 0.054),
    azure_item(_BLOB, _HOT, "All Other Operations", "10K", 0.0043),
    azure_item(_BLOB, "Hot GRS", "Hot GRS Write Operations", "10K", 0.108),
    azure_item(_BLOB, _HOT, "Hot LRS Data Stored", "1 GB/Month", 0.0196),
    azure_item(_BLOB, _HOT, "Hot LRS Data Stored", "1 GB/Month", 0.0188, tierMinimumUnits=51200.0),
    *(azure_item("Tables", "Standard LRS", f"{one} Operations", "10K", 0.00036)
      for one in ("Batch Write", "Delete", "LRS Write", "Read", "Scan")),
    azure_item("Tables", "Standard LRS", "LRS Class 1 Additional IO", "10K", 0.00036),
    azure_item("Queues v2", "Standard LRS", "LRS Class 1 Operations", "10K", 0.004),
    azure_item("Queues v2", "Standard LRS", "Class 2 Operations", "10K", 0.004),
    azure_item("Azure Cosmos DB serverless", "RUs", "1M RUs", "1M", 0.285, serviceName="Azure Cosmos DB"),
]  # fmt: skip


def azure(items: list[dict[str, Any]] | None = None) -> bytes:
    """A last page of Azure's retail prices."""
    listed = AZURE if items is None else items
    page = {"BillingCurrency": "USD", "Items": listed, "NextPageLink": None, "Count": len(listed)}
    return json.dumps(page).encode()


def google_sku(
    service: str, id: str, description: str, unit: str, *rates: tuple[float, str], **more: Any
) -> dict[str, Any]:
    """One SKU of Google's catalogue; a rate begins at a quantity and costs an amount."""
    group, region = more.pop("group", ""), more.pop("region", "global")
    tiers = []
    for begins, amount in rates:
        nanos = Decimal(amount) * 10**9
        money = {"currencyCode": "USD", "units": str(int(nanos // 10**9)), "nanos": int(nanos % 10**9)}
        tiers.append({"startUsageAmount": begins, "unitPrice": money})
    return {
        "skuId": id, "description": description, "serviceRegions": [region],
        "category": {"serviceDisplayName": service, "resourceGroup": group, "usageType": "OnDemand"},
        "pricingInfo": [{"pricingExpression": {"usageUnit": unit, "tieredRates": tiers},
                         "effectiveTime": "2026-11-20T08:00:00Z"}],
        **more,
    }  # fmt: skip


_GCS, _FS, _BT, _PS = "Cloud Storage", "Cloud Firestore", "Cloud Bigtable", "Cloud Pub/Sub"
GOOGLE = {
    "95FF-2EF5-5EA1": [
        google_sku(_GCS, "GCSA", "Regional Standard Class A Operations", "count", (0, "0"), (5000, "0.000005")),
        google_sku(_GCS, "GCSB", "Regional Standard Class B Operations", "count", (0, "0"), (50000, "0.0000004")),
        google_sku(_GCS, "GCSN", "Multi-Region Nearline Class A Operations", "count", (0, "0.00002")),
        google_sku(_GCS, "GCSS", "Standard Storage Frankfurt", "GiBy.mo", (0, "0.023"), group="RegionalStorage",
                   region="europe-west3"),
        google_sku(_GCS, "GCSM", "Standard Storage Iowa Dual-region", "GiBy.mo", (0, "0.022"),
                   group="MultiRegionalStorage", region="us-central1"),
        google_sku(_GCS, "GCSD", "Download Worldwide Destinations (excluding Asia & Australia)", "GiBy", (0, "0"),
                   (100, "0.12"), (1024, "0.11"), (10240, "0.08")),
    ],
    "EE2C-7FAC-5E08": [
        google_sku(_FS, "FSR", "Cloud Firestore Read Ops Frankfurt", "count", (0, "0.00000038")),
        google_sku(_FS, "FSRF", "Cloud Firestore Read Ops (with free tier) Frankfurt", "count", (0, "0"),
                   (50000, "0.00000038")),
        google_sku(_FS, "FSR2", "Cloud Firestore Read Ops Belgium", "count", (0, "0.00000033")),
        google_sku(_FS, "FSRX", "Cloud Firestore Read Ops Atlantis", "count", (0, "0.00000033")),
        google_sku(_FS, "FSW", "Cloud Firestore Entity Writes Frankfurt", "count", (0, "0.00000115")),
        google_sku(_FS, "FSD", "Cloud Firestore Entity Deletes Frankfurt", "count", (0, "0.00000013")),
    ],
    "C3BE-24A5-0975": [
        google_sku(_BT, "BTN", "Server Node Frankfurt", "h", (0, "0.78"), region="europe-west3"),
        google_sku(_BT, "BTS", "SSD Storage Frankfurt", "GiBy.mo", (0, "0.2"), region="europe-west3"),
    ],
    "A1E8-BE35-7EBC": [
        google_sku(_PS, "PSB", "Message Delivery Basic", "TiBy", (0, "0"), (0.009765625, "40")),
        google_sku(_PS, "PSQ", "Message Delivery to BigQuery", "TiBy", (0, "50")),
    ],
}  # fmt: skip


def google(service: str, skus: list[dict[str, Any]] | None = None) -> bytes:
    """The only page of a service."""
    return json.dumps({"skus": GOOGLE[service] if skus is None else skus, "nextPageToken": ""}).encode()
