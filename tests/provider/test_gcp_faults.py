"""What the client's errors mean, and how long calls to Compute Engine may take."""

import asyncio
import socket
import time

import pytest
from tests.emulated.gce_requests import instance, provider, request

from cloudcmp.errors import IncompleteListing, LostAnswer, NoCapacity, ProviderFault, Refused, Throttled, Unreached
from cloudcmp.provider.gcp.faults import operation_fault


class _Said:
    """One error of an operation."""

    def __init__(self, code, message=""):
        self.code, self.message = code, message


class _Errors:
    def __init__(self, *errors):
        self.errors = errors


class _Operation:
    """An operation that is done, as far as its fault is told from it."""

    def __init__(self, code="", status=0, message=""):
        self.error = _Errors(_Said(code, message)) if code else None
        self.http_error_status_code, self.http_error_message = status, message


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (_Operation("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", 503), NoCapacity),
        (_Operation("STOCKOUT", 400), Refused),
        (_Operation("RATE_LIMIT_EXCEEDED", 403), Throttled),
        (_Operation("INTERNAL_ERROR", 500), ProviderFault),
        (_Operation("SOMETHING_NEW", 0), ProviderFault),
        (_Operation("INVALID_USAGE", 400), Refused),
        (_Operation("", 503, "SERVICE UNAVAILABLE"), ProviderFault),
    ],
)
def test_errors_of_operations_are_told_apart(operation, kind):
    fault = operation_fault(operation, "here")
    assert type(fault) is kind
    assert len(str(fault).splitlines()) == 1


def test_an_operation_that_went_well_has_no_fault():
    assert operation_fault(_Operation(), "here") is None


@pytest.mark.parametrize("what", ["lost", "reset", "5xx", "truncated", "part", "drop"])
def test_a_delete_whose_answer_is_lost_is_asked_again_and_seen_gone_by_its_operation(gce_cloud, what):
    async def walk():
        driver = provider()
        id = await driver.create(request())
        gce_cloud.inject("instances.delete", what)
        with pytest.raises(LostAnswer):
            await driver.destroy(instance(id))
        await driver.destroy(instance(id))
        assert id in (await driver.gone(instance(id)) or "")
        fresh = provider()
        assert "the operation delete" in (await fresh.gone(instance(id)) or "")

    asyncio.run(walk())
    assert gce_cloud.alive() == []


def test_reads_are_repeated_and_changes_are_not(gce_cloud):
    driver = provider(attempts=3)
    id = asyncio.run(driver.create(request()))
    before = len(gce_cloud.calls("instances.get"))
    gce_cloud.inject("instances.get", "5xx", times=2)
    assert asyncio.run(driver.look(instance(id))).state == "running"
    assert len(gce_cloud.calls("instances.get")) == before + 3
    gce_cloud.inject("instances.delete", "5xx")
    with pytest.raises(LostAnswer):
        asyncio.run(driver.destroy(instance(id)))
    assert len(gce_cloud.calls("instances.delete")) == 1


def test_nothing_waits_longer_than_its_deadline(gce_cloud, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as hole:
        monkeypatch.setenv("CLOUDCMP_GCP_ENDPOINT", f"http://127.0.0.1:{hole.getsockname()[1]}")
        driver = provider(deadline_s=1.0)
        for ask, kind in (
            (lambda: asyncio.run(driver.look(instance("us-central1-a/x"))), IncompleteListing),
            (lambda: asyncio.run(driver.destroy(instance("us-central1-a/x"))), LostAnswer),
            (driver.offerings, IncompleteListing),
        ):
            began = time.monotonic()
            with pytest.raises(kind):
                ask()
            assert time.monotonic() - began < 5.0


def test_a_deadline_bounds_all_attempts_of_a_call(gce_cloud):
    driver = provider(attempts=5)
    asyncio.run(driver.find("study-a"))
    driver._sdk.deadline_s = 1.0
    gce_cloud.inject("instances.aggregatedList", "late", times=9, seconds=1.5)
    began = time.monotonic()
    with pytest.raises(IncompleteListing):
        asyncio.run(driver.find("study-a"))
    assert time.monotonic() - began < 4.0


def test_a_connection_that_is_refused_made_nothing(gce_cloud):
    driver = provider()
    asyncio.run(driver.create(request(token="warm")))
    gce_cloud.leave()
    with pytest.raises(Unreached, match="cannot be reached"):
        asyncio.run(driver._sdk.change("instances", "delete_unary", zone="us-central1-a", instance="x"))
    gce_cloud.come_back()
