"""The driver of Compute Engine against the emulated one: what is in each call, and what becomes of machines."""

import asyncio
import json
import logging
import time
from datetime import datetime

import pytest
from tests.emulated.gce import Faults
from tests.emulated.gce_requests import (
    REGION,
    ZONE,
    firewall,
    instance,
    launched,
    provider,
    request,
    tags,
)
from tests.emulated.gce_told import body_of

from cloudcmp.errors import (
    LostAnswer,
    NoCapacity,
    NotAllowed,
    QuotaReached,
    Refused,
    Throttled,
)
from cloudcmp.model.lease import VOLUME
from cloudcmp.model.offering import Volume
from cloudcmp.model.protocol import Accounted, HasServerTime, PlanSafeguards, Remote, Zoned
from cloudcmp.model.remote import Access, KeyPair

GIB = 2**30


def test_it_is_a_provider_whose_machines_are_reached_by_ssh():
    driver = provider()
    for kind in (Remote, Zoned, HasServerTime, Accounted, PlanSafeguards):
        assert isinstance(driver, kind)
    assert [barrier.name for barrier in driver.safeguards] == ["teardown", "cleanup", "death", "sweep"]
    assert (driver.billing.minimum_s, driver.billing.step_s) == (60.0, 1.0)
    assert driver.billing.hourly({"image": "my-own"})
    assert not driver.billing.hourly({"image": "ubuntu-24.04"})


def test_offerings_are_what_the_region_sells(gce_cloud):
    driver = provider()
    sold = {one.name: one for one in driver.offerings(REGION)}
    assert driver.offerings() == driver.offerings(REGION)
    assert driver.offerings("no-such-region") == ()
    n2 = sold["n2-standard-4"]
    assert (n2.vcpus, n2.memory_gib, n2.category, n2.price) == (4.0, 16.0, "general", None)
    assert dict(sold["c4a-standard-2"].attributes)["architecture"] == "aarch64"
    assert dict(sold["c2-standard-4"].attributes)["zones"] == "us-central1-b"
    kinds = {"c2-standard-4": "compute", "n2-highmem-2": "memory", "e2-micro": "burstable"}
    assert {name: sold[name].category for name in kinds} == kinds
    gce_cloud.faults = Faults(page=2)
    assert provider().offerings(REGION) == driver.offerings(REGION)


def test_p05_everything_is_in_the_creating_call(gce_cloud):
    asked = request(options={"market": "spot"})
    group, id = asyncio.run(launched(provider(), options={"market": "spot"}))
    (call,) = gce_cloud.calls("instances.insert")
    made = body_of(call)
    assert id == f"{ZONE}/{asked.name}"
    assert len(call.params["requestId"]) == 36
    assert made["labels"]["cloudcmp-study"] == "study-a"
    assert made["labels"] == made["disks"][0]["initializeParams"]["labels"]
    items = {one["key"]: one["value"] for one in made["metadata"]["items"]}
    written = json.loads(items["cloudcmp-tags"].removeprefix("cloudcmp "))
    assert written == {"token": "token-1", "tags": dict(tags())}
    assert (items["block-project-ssh-keys"], items["enable-oslogin"]) == ("TRUE", "FALSE")
    assert made["disks"][0]["autoDelete"] is True
    assert made["tags"]["items"] == [group]
    assert made["networkInterfaces"][0]["accessConfigs"][0]["type"] == "ONE_TO_ONE_NAT"
    assert not {"serviceAccounts", "deletionProtection"} & {key for key, value in made.items() if value}
    scheduling = made["scheduling"]
    assert (scheduling["provisioningModel"], scheduling["onHostMaintenance"]) == ("SPOT", "TERMINATE")
    assert (scheduling["instanceTerminationAction"], scheduling["automaticRestart"]) == ("DELETE", False)
    ends_in = datetime.fromisoformat(scheduling["terminationTime"]).timestamp() - time.time()
    assert 590 < ends_in <= 601


def test_the_guests_own_timer_waits_until_the_cloud_has_surely_not_ended_the_machine(gce_cloud):
    asyncio.run(provider().create(request(at=1e9 + 0.5, ttl_s=1000.0)))
    (life,) = gce_cloud.state.lives.values() or [None]
    config = json.loads(life.user_data().removeprefix("#cloud-config\n"))
    ((_, _, script),) = config["bootcmd"]
    assert "left=$((1000001901 - $(date +%s)))" in script
    assert "set_host_keys = false" in script
    assert life.body["scheduling"]["terminationTime"] == "2001-09-09T02:03:21Z"


@pytest.mark.parametrize("skew_s", [-200.0, 30.0, 200.0])
def test_a_clock_that_is_wrong_does_not_move_the_end(gce_cloud, skew_s):
    """One that no study begins by is corrected; a small difference is not, so that a repeated request is the same."""
    gce_cloud.faults = Faults(skew_s=skew_s)
    asyncio.run(provider().create(request(at=1e9)))
    (life,) = gce_cloud.state.lives.values() or [None]
    ends = datetime.fromisoformat(life.body["scheduling"]["terminationTime"]).timestamp()
    assert ends == pytest.approx(1e9 + 600 + (skew_s if abs(skew_s) > 60 else 0), abs=2.0)


@pytest.mark.parametrize(("ttl_s", "match"), [(130 * 86400.0, "limit")])
def test_a_time_to_live_that_the_cloud_has_not_is_refused(gce_cloud, ttl_s, match):
    with pytest.raises(Refused, match=match):
        asyncio.run(provider().create(request(ttl_s=ttl_s)))


def test_windows_has_its_own_doors_and_no_user_data(gce_cloud):
    async def walk():
        driver = provider()
        _, id = await launched(driver, options={"os": "windows"})
        return await driver.look(instance(id))

    sight = asyncio.run(walk())
    assert (sight.state, sight.port) == ("running", 3389)
    door = next(rule for rule in gce_cloud.state.firewalls.values() if rule.get("sourceRanges") == ["192.0.2.7/32"])
    assert door["allowed"][0]["ports"] == ["3389", "5985"]
    items = body_of(gce_cloud.calls("instances.insert")[0])["metadata"]["items"]
    assert "user-data" not in {one["key"] for one in items}


def test_volumes_are_disks_of_their_own_or_the_root(gce_cloud):
    def made(volume, token):
        asyncio.run(provider().create(request(token=token, volume=volume)))
        return body_of(gce_cloud.calls("instances.insert")[-1])["disks"]

    root, beside = made(Volume("hyperdisk-balanced", 100 * GIB, 4000), "a")
    assert "diskType" not in root["initializeParams"]
    params = beside["initializeParams"]
    assert (params["diskType"], params["diskSizeGb"]) == (f"zones/{ZONE}/diskTypes/hyperdisk-balanced", "100")
    assert params["provisionedIops"] == "4000"
    assert beside["autoDelete"] is True
    assert params["labels"]["cloudcmp-token"] == "a"
    assert params["diskName"] == "cloudcmp-study-a-a-data"
    (root,) = made(Volume("pd-ssd", 20 * GIB, root=True), "b")
    assert root["initializeParams"]["diskType"].endswith("/pd-ssd")
    _, local = made(Volume("local-ssd", 375 * GIB), "c")
    assert (local["type"], local["interface"], local["autoDelete"]) == ("SCRATCH", "NVME", True)
    assert len({thing.id for thing in gce_cloud.alive() if thing.kind == "volume"}) == 4


@pytest.mark.parametrize(
    ("volume", "match"),
    [
        (Volume("pd-ssd"), "needs a size"),
        (Volume("pd-ssd", GIB, 3000), "takes no IOPS"),
        (Volume("local-ssd", 100 * GIB), "375 GiB"),
        (Volume("local-ssd", root=True), "cannot be the root"),
        (Volume("pd-fast", GIB), "diskType"),
    ],
)
def test_a_volume_that_cannot_be_had_is_refused(gce_cloud, volume, match):
    with pytest.raises(Refused, match=match):
        asyncio.run(provider().create(request(volume=volume)))
    assert gce_cloud.alive() == []


@pytest.mark.parametrize(
    "options",
    [{"placement": "spread"}, {"credits": "standard"}, {"tenancy": "dedicated"}, {"accept_untracked": "yes"}],
)
def test_what_is_not_had_is_refused_with_a_line(gce_cloud, options):
    with pytest.raises(Refused, match=next(iter(options))) as caught:
        asyncio.run(provider().create(request(options=options)))
    assert len(str(caught.value).splitlines()) == 1
    asyncio.run(provider().create(request(options={"tenancy": "shared"})))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"region": "us-cental1"}, "did you mean us-central1"),
        ({"offering": "e2-mirco"}, "did you mean e2-micro"),
        ({"offering": "n2-custom-3-4096"}, "neither 1 nor an even"),
        ({"offering": "n2-custom-4-4100"}, "multiple of 256"),
        ({"options": {"zone": "us-central1-z"}}, "did you mean us-central1-"),
        ({"options": {"image": "ubuntu-24.4"}}, r"did you mean ubuntu-24\.04"),
        ({"options": {"image": "debian-12"}}, "no cloud-init"),
        ({"options": {"image": "windows-2022"}, "offering": "c4a-standard-2"}, "for aarch64"),
        ({"kind": VOLUME}, "cannot be created alone"),
    ],
)
def test_names_that_are_unknown_are_refused(gce_cloud, change, match):
    kind = change.pop("kind", "instance") if "kind" in change else "instance"
    with pytest.raises(Refused, match=match):
        asyncio.run(provider().create(request(kind, **change)))
    assert gce_cloud.alive() == []


def test_custom_machine_types_are_made(gce_cloud):
    asyncio.run(provider().create(request(offering="n2-custom-4-8192")))
    assert body_of(gce_cloud.calls("instances.insert")[0])["machineType"].endswith("/n2-custom-4-8192")


def test_images_by_line_by_name_by_family_and_by_link(gce_cloud):
    from tests.emulated.gce_catalog import image

    project = gce_cloud.state.project
    gce_cloud.state.images[project, "mine-1"] = image(project, "mine-1", "X86_64", "mine")
    gce_cloud.state.images[project, "mine-2"] = image(project, "mine-2", "X86_64", "mine")

    def made(token, offering="e2-micro", **options):
        asyncio.run(provider().create(request(token=token, offering=offering, options=options)))
        sent = body_of(gce_cloud.calls("instances.insert")[-1])
        return sent["disks"][0]["initializeParams"]["sourceImage"].rsplit("/", 1)[-1]

    assert made("a") == "ubuntu-2404-noble-amd64-v20261110"
    assert made("b", "c4a-standard-2") == "ubuntu-2404-noble-arm64-v20261110"
    assert made("c", image="ubuntu-22.04") == "ubuntu-2204-jammy-v20261109"
    assert made("d", image="mine-1") == "mine-1"
    assert made("e", image="mine") == "mine-2"
    assert made("f", image=f"projects/{project}/global/images/mine-1") == "mine-1"
    assert made("g", image=f"projects/{project}/global/images/family/mine") == "mine-2"
    with pytest.raises(Refused, match="is for x86_64"):
        made("h", "c4a-standard-2", image="mine-1")


def test_an_image_is_billed_as_the_study_s_prices_are(gce_cloud):
    from tests.emulated.gce_catalog import HOST, image

    project = gce_cloud.state.project
    licensed = image(project, "mine-3", "X86_64", "mine")
    licensed["licenses"] = [f"{HOST}/projects/rhel-cloud/global/licenses/rhel-9-server"]
    gce_cloud.state.images[project, "mine-3"] = licensed
    gce_cloud.state.images[project, "mine-4"] = image(project, "mine-4", "X86_64", "mine", windows=True)
    for name, system, why in (
        ("mine-4", "linux", "the image mine-4 is windows; write os: windows"),
        ("ubuntu-22.04", "windows", "the image ubuntu-22.04 is linux; write os: linux"),
        ("mine-3", "linux", "a licence that no price here counts: rhel-cloud/global/licenses/rhel-9-server"),
    ):
        with pytest.raises(Refused, match=why):
            asyncio.run(provider().create(request(token=name, options={"image": name, "os": system})))
    assert gce_cloud.calls("instances.insert") == []


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("quotaExceeded", QuotaReached),
        ("rateLimitExceeded", Throttled),
        ("forbidden", NotAllowed),
        ("accessNotConfigured", NotAllowed),
        ("invalid", Refused),
        ("ZONE_RESOURCE_POOL_EXHAUSTED", NoCapacity),
        ("backendError", LostAnswer),
        ("internalError", LostAnswer),
    ],
)
def test_errors_of_a_create_are_told_apart_by_the_providers_code(gce_cloud, code, kind):
    gce_cloud.inject("instances.insert", f"error:{code}", times=3)
    with pytest.raises(kind, match=code) as caught:
        asyncio.run(provider().create(request(options={"zone": ZONE})))
    assert type(caught.value) is kind
    assert len(str(caught.value).splitlines()) == 1
    assert len(gce_cloud.calls("instances.insert")) == 1


def test_p38_no_log_holds_user_data_or_keys(gce_cloud, caplog):
    secret = "canary-in-the-user-data"
    access = Access(KeyPair(secret, "public"), "client", json.dumps({}) and f'#cloud-config\n{{"x": "{secret}"}}\n')
    with caplog.at_level(logging.DEBUG):
        asyncio.run(provider().create(request(access=access)))
        gce_cloud.inject("instances.insert", "truncated")
        with pytest.raises(LostAnswer) as caught:
            asyncio.run(provider().create(request(token="two", access=access)))
    key = gce_cloud.account.file("")["private_key"].splitlines()[3]
    for text in (caplog.text, str(caught.value), repr(request(access=access))):
        assert secret not in text
        assert key not in text
        assert "Bearer" not in text


def test_a_machine_is_ended_with_its_disks_and_what_is_gone_may_be_ended_again(gce_cloud):
    async def walk():
        driver = provider()
        group, id = await launched(driver, volume=Volume("pd-ssd", 20 * GIB))
        assert await driver.gone(instance(id)) is None
        for handle in (instance(id), firewall(group)):
            await driver.destroy(handle)
            assert handle.cloud_id in (await driver.gone(handle) or "")
            await driver.destroy(handle)
            assert await driver.gone(handle)

    asyncio.run(walk())
    assert gce_cloud.alive() == []
