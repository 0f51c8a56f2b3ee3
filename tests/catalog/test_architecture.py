"""Architectures and accelerators by the names of types, against what a public table says of them."""

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloudcmp.catalog.accelerators import has_accelerator
from cloudcmp.catalog.architecture import ARM, X86, architecture_of, same_architecture

DATA = os.environ.get("CLOUDCMP_DATA")
NAMED = ("aws", "azure", "gcp")


def rows() -> Iterator[dict[str, str]]:
    with (Path(DATA or "") / "sparecores" / "benchmarks_by_instance.csv").open(encoding="utf-8") as file:
        yield from (row for row in csv.DictReader(file) if row["vendor"] in NAMED)


@pytest.mark.parametrize(
    ("provider", "name", "architecture"),
    [
        ("aws", "m7g.large", ARM),
        ("aws", "m7i-flex.large", X86),
        ("aws", "im4gn.large", ARM),
        ("aws", "g5.xlarge", X86),
        ("aws", "g5g.xlarge", ARM),
        ("aws", "u-6tb1.metal", X86),
        ("aws", "mac2.metal", ""),
        ("azure", "Standard_D4ps_v5", ARM),
        ("azure", "Standard_E8-4s_v4", X86),
        ("gcp", "c4a-standard-4", ARM),
        ("gcp", "n2-standard-4", X86),
        ("hcloud", "cax11", ""),
    ],
)
def test_a_name_tells_the_architecture(provider: str, name: str, architecture: str) -> None:
    assert architecture_of(provider, name) == architecture


def test_words_for_one_architecture_are_one() -> None:
    assert [same_architecture(word) for word in ("X86_64", "amd64", "I386", "aarch64", "ARM64", "riscv")] == [
        X86, X86, X86, ARM, ARM, "",
    ]  # fmt: skip


@pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no data of real clouds")
def test_names_and_the_public_table_differ_only_in_googles_arm_types() -> None:
    both = [
        (row["instance_type"], architecture_of(row["vendor"], row["instance_type"]), same_architecture(row["arch"]))
        for row in rows()
        if same_architecture(row["arch"])
    ]
    assert len(both) > 2600
    differ = {name.partition("-")[0] for name, by_name, by_table in both if by_name != by_table}
    assert differ == {"c4a", "n4a"}  # Axion, which the table calls x86_64


@pytest.mark.skipif(DATA is None, reason="$CLOUDCMP_DATA is not set: no data of real clouds")
def test_every_type_with_graphics_processors_is_known_by_its_name() -> None:
    with_gpu = [row for row in rows() if float(row["gpu_count"] or 0) > 0]
    assert len(with_gpu) > 100
    assert [row["instance_type"] for row in with_gpu if not has_accelerator(row["vendor"], row["instance_type"])] == []
    assert not has_accelerator("aws", "m7i.large")
    assert not has_accelerator("hcloud", "cx22")
