"""483 days of machines of a real cloud (Azure VM Noise Dataset 2024, eastus; TUNA, EuroSys 2025), as a tidy table."""

import os
from pathlib import Path

import pytest

from tests.late import Late

pd = Late("pandas")

DATA = os.environ.get("CLOUDCMP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CLOUDCMP_DATA names no folder of real measurements")
TESTS = {
    "Test:_Max_Bandwidth_-_Stream-Triad_Like": ("triad", "B/s", "higher", 2.0**20),
    "Scaling_Factor:_25_-_Clients:_25_-_Mode:_Read_Only": ("pgbench_read", "op/s", "higher", 1.0),
    "Test:_SET_-_Parallel_Connections:_50": ("redis_set", "op/s", "higher", 1.0),
    "Test:_Idle_Latency": ("idle_latency", "s", "lower", 1e-9),
}


def fresh() -> "pd.DataFrame":
    """The values of fresh machines in four tests, with the columns of a tidy table and `unit` in base units."""
    path = Path(str(DATA)) / "azure_vm_noise" / "azure_vm_noise_eastus.csv.gz"
    columns = ["test", "lifespan", "sku", "vm_id", "starttime", "value"]
    rows = pd.read_csv(path, usecols=columns)
    rows = rows[(rows.lifespan == "short") & rows.test.isin(TESTS)]
    known = {name: rows.test.map({test: one[at] for test, one in TESTS.items()})
             for at, name in enumerate(("metric", "unit", "better", "factor"))}  # fmt: skip
    return pd.DataFrame(
        {
            "provider": "azure", "region": "eastus", "offering": rows.sku, "instance": rows.vm_id.astype(str),
            "time": rows.starttime.str.replace(" ", "T") + "Z", "metric": known["metric"], "unit": known["unit"],
            "better": known["better"], "value": rows.value * known["factor"],
        }
    )  # fmt: skip


def table(folder: Path) -> Path:
    """The table as a CSV file."""
    path = folder / "azure.csv"
    fresh().to_csv(path, index=False)
    return path
