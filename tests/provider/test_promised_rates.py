"""What each cloud's API promises of its types: read in its unit, dated, and unknown where it is zero or missing."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.model.promise import Promise, Promised
from cloudcmp.provider.aws import catalog as aws
from cloudcmp.provider.azure import catalog as azure
from cloudcmp.provider.longtail import linode
from cloudcmp.provider.openstack import catalog as openstack

DAY = date(2026, 11, 1)
RATES = st.none() | st.integers(0, 400_000) | st.floats(0.0, 400.0)


def promised(offering: Any) -> dict[Promised, Promise]:
    return {one.of: one for one in offering.promises}


def known(value: float | None) -> float | None:
    return value or None


@given(low=RATES, high=RATES, words=st.sampled_from(["Up to 12.5 Gigabit", "Moderate", ""]), ebs=RATES)
def test_aws_promises_what_its_default_card_and_its_volumes_have(
    low: float | None, high: float | None, words: str, ebs: float | None
) -> None:
    other = {"NetworkCardIndex": 0, "BaselineBandwidthInGbps": 999.0, "PeakBandwidthInGbps": 999.0}
    card = {"NetworkCardIndex": 1, "BaselineBandwidthInGbps": low, "PeakBandwidthInGbps": high}
    response = {
        "InstanceType": "m7i.large",
        "NetworkInfo": {"NetworkPerformance": words, "DefaultNetworkCardIndex": 1, "NetworkCards": [other, card]},
        "EbsInfo": {"EbsOptimizedInfo": {"BaselineIops": ebs, "MaximumThroughputInMBps": ebs}},
    }
    found = promised(aws.offering_of("aws", "eu-north-1", response, DAY))
    most = known(high) or (12.5 if words.startswith("Up") else None)
    if known(low) and most and most < (low or 0.0):
        most = None
    if known(low) or most:
        one = found[Promised.NETWORK]
        assert one.baseline == (pytest.approx((low or 0) * 1.25e8) if known(low) else None)
        assert one.up_to == (pytest.approx(most * 1.25e8) if most else None)
        assert (one.source, one.as_of, one.words) == ("DescribeInstanceTypes", DAY, words)
    else:
        assert Promised.NETWORK not in found
    if known(ebs):
        assert found[Promised.VOLUME_IOPS].baseline == pytest.approx(ebs)
        assert found[Promised.VOLUME_THROUGHPUT].up_to == pytest.approx((ebs or 0) * 1e6)
    else:
        assert not found.keys() & {Promised.VOLUME_IOPS, Promised.VOLUME_THROUGHPUT}


def test_a_type_of_aws_without_any_figure_promises_nothing() -> None:
    assert aws.offering_of("ec2", "r", {"InstanceType": "tiny"}).promises == ()


@given(ops=st.none() | st.integers(0, 10**6), rate=st.none() | st.integers(0, 10**11))
def test_azure_promises_its_uncached_rates(ops: int | None, rate: int | None) -> None:
    some = (("UncachedDiskIOPS", ops), ("UncachedDiskBytesPerSecond", rate))
    capabilities = [{"name": name, "value": str(value)} for name, value in some if value is not None]
    found = promised(azure.offering_of("westeurope", {"name": "Standard_D2s_v5", "capabilities": capabilities}, DAY))
    for of, value in ((Promised.VOLUME_IOPS, ops), (Promised.VOLUME_THROUGHPUT, rate)):
        assert (of in found) is bool(value)
        if value:
            assert (found[of].baseline, found[of].up_to, found[of].as_of) == (float(value), None, DAY)


@given(inbound=RATES, outbound=RATES, peak=RATES, read=RATES, total=RATES)
def test_a_flavor_promises_the_limits_of_its_quotas(
    inbound: float | None, outbound: float | None, peak: float | None, read: float | None, total: float | None
) -> None:
    quotas = {
        "vif_inbound_average": inbound, "vif_outbound_average": outbound, "vif_outbound_peak": peak,
        "disk_read_iops_sec": read, "disk_total_bytes_sec": total,
    }  # fmt: skip
    specs = {f"quota:{key}": str(value) for key, value in quotas.items() if value is not None}
    offering = openstack.offering_of("openstack", "one", {"name": "small", "extra_specs": specs}, DAY)
    found = promised(offering)
    average = min((one for one in (inbound, outbound) if one), default=None)
    if average:
        assert found[Promised.NETWORK].baseline == pytest.approx(average * 1000)
    assert (Promised.NETWORK in found) is bool(average or peak)
    assert (Promised.DISK_IOPS in found) is bool(read)
    if read:
        assert (found[Promised.DISK_IOPS].baseline, found[Promised.DISK_IOPS].op) == (pytest.approx(read), "read")
    assert (Promised.DISK_THROUGHPUT in found) is bool(total)


@given(st.none() | st.integers(0, 20_000))
def test_linode_promises_its_outbound_network(mbit: int | None) -> None:
    response = {"id": "g6-nanode-1", "network_out": mbit}
    offering = linode.CLOUD.dialect.offering(linode.CLOUD, "eu-central", response, DAY)
    assert offering is not None
    found = promised(offering)
    assert (Promised.NETWORK in found) is bool(mbit)
    if mbit:
        assert found[Promised.NETWORK].baseline == pytest.approx(mbit * 125_000)
