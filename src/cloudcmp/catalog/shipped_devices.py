"""Devices that providers ship for large moves of data.

All figures are R: written from memory of the providers' price pages and data sheets, not checked since. Prices are of
regions in the United States, without taxes, and shipping where it is a price of its own is in the fee. Copy rates are
what users report of one device on a 10 Gbit/s network. Handling is an assumption: two journeys of three days each, and
three days until the provider has read the device.
"""

from cloudcmp.model.move import ShippedDevice

_TB, _MB = 1e12, 1e6
_DAYS = 9.0

SHIPPED_DEVICES = (
    ShippedDevice("Snowball Edge Storage Optimized 80 TB", "aws", 80 * _TB, 300.0, 10, 30.0, _DAYS, 300 * _MB, 0.03,
                  "USD", "aws.amazon.com/snowball/pricing, R", "2023"),
    ShippedDevice("Data Box", "azure", 80 * _TB, 345.0, 10, 15.0, _DAYS, 300 * _MB, None,
                  "USD", "azure.microsoft.com/pricing/details/databox, R", "2023"),
    ShippedDevice("Transfer Appliance TA300", "gcp", 300 * _TB, 1800.0, 25, 90.0, _DAYS, 400 * _MB, None,
                  "USD", "cloud.google.com/transfer-appliance/pricing, R", "2023"),
)  # fmt: skip
