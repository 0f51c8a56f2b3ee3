"""The driver of OpenStack against the emulated one: what is in each call, and what becomes of machines."""

import asyncio
import json
from dataclasses import replace

import pytest
from tests.emulated.nova import IMAGES, Faults
from tests.emulated.nova_requests import (
    ALLOW,
    REGION,
    STUDY,
    firewall,
    instance,
    launched,
    provider,
    request,
    tags,
)
from tests.provider.openstacks import pointed

from cloudcmp.errors import (
    BadCredentials,
    LostAnswer,
    NoCapacity,
    NoCredentials,
    NotAllowed,
    ProviderFault,
    QuotaReached,
    Refused,
    Throttled,
    Unlisted,
    Unreached,
)
from cloudcmp.model.lease import ADDRESS, FIREWALL, VOLUME, Handle
from cloudcmp.model.offering import Volume
from cloudcmp.model.protocol import Remote
from cloudcmp.model.remote import Access, KeyPair

GIB = 2**30


@pytest.fixture
def cloud():
    with pointed() as one:
        yield one


def body(cloud, action="CreateServer", number=-1):
    """The body of a call."""
    return json.loads(cloud.calls(action)[number].params["body"])


def image(name, created=""):
    """The id of an image of the emulated Glance."""
    return next(one.id for one in IMAGES if one.name == name and one.created.startswith(created))


def test_it_is_a_provider_whose_machines_are_reached_by_ssh_and_do_not_end_by_themselves():
    driver = provider()
    assert isinstance(driver, Remote)
    assert [barrier.holds for barrier in driver.barriers] == [True, True, False, True]
    assert (driver.billing.minimum_s, driver.billing.step_s, driver.billing.ends) == (3600.0, 3600.0, False)


def test_offerings_are_what_the_region_sells(cloud):
    driver = provider()
    sold = {one.name: one for one in driver.offerings(REGION)}
    assert driver.offerings() == driver.offerings(REGION)
    assert driver.offerings("no-such-region") == ()
    small = sold["m1.small"]
    assert (small.vcpus, small.memory_gib, small.category, small.price) == (1.0, 2.0, None, None)
    assert dict(small.attributes)["disks"] == "20 GB"
    assert "volume" in dict(sold["gp.0.1.2"].attributes)["disks"]
    cloud.faults = Faults(page=2)
    assert provider().offerings(REGION) == driver.offerings(REGION)


def test_one_call_makes_a_machine_with_its_metadata_network_and_user_data(cloud):
    group, machine = asyncio.run(launched(provider()))
    server = body(cloud)["server"]
    assert {**dict(tags()), "cloudcmp:token": "token-1"} == server["metadata"]
    assert server["networks"] == [{"uuid": cloud.regions[REGION].id_of("private")}]
    assert server["security_groups"] == [{"name": group}]
    assert (server["config_drive"], server["imageRef"]) == (True, image("Debian 13 (Trixie)"))
    assert "block_device_mapping_v2" not in server
    assert cloud.regions[REGION].servers[machine].user_data == "#cloud-config\n{}\n"


def test_a_firewall_lets_in_the_controller_and_its_own_machines_only(cloud):
    options = {"allow": "192.0.2.7/32, 2001:db8::7/128"}
    group = asyncio.run(provider().create(request(FIREWALL, "f", options=options)))
    made = [rule for rule in cloud.regions[REGION].groups[group].rules.values() if rule["direction"] == "ingress"]
    doors = {(rule["ethertype"], rule["remote_ip_prefix"]) for rule in made if "protocol" in rule}
    assert doors == {("IPv4", "192.0.2.7/32"), ("IPv6", "2001:db8::7/128")}
    assert {rule["port_range_min"] for rule in made if "protocol" in rule} == {22}
    assert [rule["remote_group_id"] for rule in made if "protocol" not in rule] == [group, group]
    assert len(cloud.calls("CreateSecurityGroupRules")) == 1


@pytest.mark.parametrize("allow", ["", "everybody", "0.0.0.0/0", "10.0.0.0/8", "::/0"])
def test_a_firewall_that_lets_nobody_or_everybody_in_is_not_made(cloud, allow):
    with pytest.raises(Refused):
        asyncio.run(provider().create(request(FIREWALL, "f", options={"allow": allow})))
    assert cloud.calls("CreateSecurityGroup") == []


def test_the_local_end_of_the_way_to_keystone_is_let_in_where_the_study_names_nobody(cloud):
    wanted = request(FIREWALL, "f")
    group = asyncio.run(provider().create(replace(wanted, options=())))
    prefixes = {rule.get("remote_ip_prefix") for rule in cloud.regions[REGION].groups[group].rules.values()}
    assert "127.0.0.1/32" in prefixes


def test_a_machine_behind_a_router_is_given_one_floating_address_which_goes_with_it(cloud):
    async def walk():
        driver = provider()
        group, machine = await launched(driver)
        sights = [await driver.look(instance(machine)) for _ in range(3)]
        (floating,) = cloud.regions[REGION].floatings.values()
        assert {one.address for one in sights} == {floating.address}
        assert sights[0].peer_address == cloud.regions[REGION].servers[machine].address != floating.address
        found = {one.cloud_id: one for one in await driver.find(STUDY)}
        assert (found[floating.id].kind, found[floating.id].tags) == (ADDRESS, tags())
        await driver.destroy(instance(machine))
        evidence = [await driver.gone(instance(machine)) for _ in range(2)]
        assert all(evidence)
        assert machine in evidence[0]
        await driver.destroy(firewall(group))
        assert await driver.gone(firewall(group))

    asyncio.run(walk())
    assert cloud.alive() == []
    assert len(cloud.calls("CreateFloatingIp")) == 1


def test_a_machine_on_an_external_network_needs_no_floating_address():
    with pointed(Faults(network="provider")) as cloud:

        async def walk():
            driver = provider()
            _, machine = await launched(driver)
            return machine, await driver.look(instance(machine))

        machine, sight = asyncio.run(walk())
        assert sight.address == sight.peer_address == cloud.regions[REGION].servers[machine].address
        assert cloud.calls("CreateFloatingIp") == []


def test_only_the_process_that_asked_for_a_machine_gives_it_an_address(cloud):
    async def walk():
        _, machine = await launched(provider())
        await provider().look(instance(machine))
        cloud.inject("CreateFloatingIp", "lost")
        return machine

    asyncio.run(walk())
    assert cloud.regions[REGION].floatings == {}


@pytest.mark.parametrize("what", ["lost", "reset", "5xx", "truncated", "drop", "error:503", "error:429"])
def test_a_floating_address_whose_answer_is_lost_is_found_and_never_made_twice(cloud, what):
    async def walk():
        driver = provider()
        _, machine = await launched(driver)
        cloud.inject("CreateFloatingIp", what)
        for _ in range(3):
            try:
                sight = await driver.look(instance(machine))
            except Throttled:
                continue
        return sight

    sight = asyncio.run(walk())
    (floating,) = cloud.regions[REGION].floatings.values()
    assert sight.address == floating.address


def test_a_floating_address_that_stays_keeps_its_machine_from_being_told_gone(cloud):
    async def walk():
        driver = provider(settle_s=0.0)
        _, machine = await launched(driver)
        await driver.look(instance(machine))
        cloud.inject("DeleteFloatingIp", "error:500", times=2)
        for _ in range(2):
            with pytest.raises(ProviderFault):
                await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine)) is None
        await driver.destroy(instance(machine))
        assert await driver.gone(instance(machine))

    asyncio.run(walk())
    assert cloud.regions[REGION].floatings == {}


def test_networks_are_chosen_where_they_can_be_told_and_named_where_not(cloud):
    def run(**options):
        asyncio.run(launched(provider(), token=str(options), options={**options, ALLOW[0]: ALLOW[1]}))
        return body(cloud)["server"]["networks"][0]["uuid"]

    ids = cloud.regions[REGION]
    assert run() == run(network="private") == run(network=ids.id_of("private")) == ids.id_of("private")
    assert run(network="public") == ids.id_of("public")
    for wrong, hint in (("privat", "did you mean private"), ("bare", "no network 'bare' with a subnet")):
        with pytest.raises(Refused, match=hint):
            run(network=wrong)
    with pytest.raises(Refused, match="no router with a gateway"):
        run(network="public", address="floating")


def test_an_address_that_is_to_be_the_networks_own_is(cloud):
    async def walk():
        driver = provider()
        _, machine = await launched(driver, options={"address": "fixed", ALLOW[0]: ALLOW[1]})
        return machine, await driver.look(instance(machine))

    machine, sight = asyncio.run(walk())
    assert sight.address == cloud.regions[REGION].servers[machine].address
    assert cloud.calls("CreateFloatingIp") == []


def test_images_are_the_operators_own_or_the_projects(cloud):
    def run(asked):
        options = {"image": asked} if asked else {}
        asyncio.run(launched(provider(), token=asked or "none", options={**options, ALLOW[0]: ALLOW[1]}))
        return body(cloud)["server"]["imageRef"]

    newest = image("Debian 13 (Trixie)")
    assert run("") == run("debian-13") == newest
    assert run("debian-12") == image("Debian 12 bookworm")
    assert run("ubuntu-24.04") == image("img-4711")
    assert run("Debian 13") == image("Debian 13", "2026-08")  # not the newer one that somebody shared
    shared = image("Debian 13", "2026-11")
    assert run(shared) == shared
    for wrong, hint in (("debain-13", "did you mean debian-13"), ("0" * 8 + "-0000-4000-8000-" + "0" * 12, "no image")):
        with pytest.raises(Refused, match=hint):
            run(wrong)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"market": "spot"}, "no spot market"),
        ({"tenancy": "dedicated"}, "flavor of its own"),
        ({"credits": "unlimited"}, "no CPU credits"),
        ({"os": "windows"}, "Windows"),
        ({"image": "Windows Server 2022"}, "Windows"),
        ({"placement": "partition"}, "no partitions"),
        ({"image": "mine"}, "needs 30 GiB"),
    ],
)
def test_what_this_cloud_has_not_is_refused_before_anything_is_sent(cloud, options, why):
    with pytest.raises(Refused, match=why):
        asyncio.run(provider().create(request(options=options)))
    assert cloud.calls("CreateServer") == []


@pytest.mark.parametrize(
    ("volume", "offering", "disks"),
    [
        (Volume("ssd", 30 * GIB, root=True), "gp.0.1.2", [(0, "volume", 30)]),
        (Volume("ssd", root=True), "m1.small", [(0, "volume", 20)]),
        (Volume("ssd", GIB, root=True), "m1.small", [(0, "volume", 2)]),
        (Volume("ssd", 3 * GIB // 2), "m1.small", [(0, "local", None), (-1, "volume", 2)]),
    ],
)
def test_disks_are_made_in_the_machines_call_and_end_with_it(cloud, volume, offering, disks):
    driver = provider()
    _, machine = asyncio.run(launched(driver, volume=volume, offering=offering))
    asked = body(cloud)["server"]["block_device_mapping_v2"]
    assert [(one["boot_index"], one["destination_type"], one.get("volume_size")) for one in asked] == disks
    assert all(one["delete_on_termination"] for one in asked)
    assert [one.kind for one in cloud.alive()].count("volume") == 1
    asyncio.run(driver.destroy(instance(machine)))
    assert [one.kind for one in cloud.alive()] == ["firewall"]


@pytest.mark.parametrize(
    ("volume", "offering", "why"),
    [
        (None, "gp.0.1.2", "comes without a disk"),
        (Volume("ssd"), "m1.small", "needs a size"),
        (Volume("ssd", GIB, iops=5), "m1.small", "speed of a volume"),
        (Volume("floppy", GIB), "m1.small", "floppy could not be found"),
    ],
)
def test_disks_that_can_not_be_had_are_refused(cloud, volume, offering, why):
    with pytest.raises(Refused, match=why):
        asyncio.run(provider().create(request(volume=volume, offering=offering)))
    assert cloud.alive() == []


def test_an_older_nova_takes_no_volume_type_and_tells_flavors_by_id():
    with pointed(Faults(newest="2.60")) as cloud:

        async def walk():
            driver = provider()
            with pytest.raises(Refused, match=r"2\.67 does"):
                await driver.create(request(token="v", volume=Volume("ssd", GIB)))
            _, machine = await launched(driver, options={"placement": "spread", ALLOW[0]: ALLOW[1]})
            return machine, await driver.find(STUDY)

        machine, found = asyncio.run(walk())
        assert machine in {one.cloud_id for one in found}
        assert body(cloud, "CreateServerGroup")["server_group"]["policies"] == ["anti-affinity"]


def test_a_server_group_stands_beside_the_firewall_and_goes_with_it(cloud):
    async def walk():
        driver = provider()
        group, machine = await launched(driver, options={"placement": "cluster", ALLOW[0]: ALLOW[1]})
        (place,) = cloud.regions[REGION].placements.values()
        assert (place.policy, cloud.regions[REGION].servers[machine].placement) == ("affinity", place.id)
        for handle in (instance(machine), firewall(group)):
            await driver.destroy(handle)
            assert await driver.gone(handle)

    asyncio.run(walk())
    assert cloud.alive() == []


def test_a_group_whose_rules_or_place_fail_is_deleted_again(cloud):
    for action in ("CreateSecurityGroupRules", "CreateServerGroup"):
        cloud.inject(action, "error:400 Bad request.")
        with pytest.raises(Refused):
            asyncio.run(provider().create(request(FIREWALL, action, options={"placement": "spread", **dict([ALLOW])})))
        assert cloud.alive() == []


def test_a_group_that_can_not_be_deleted_again_is_no_refusal(cloud):
    cloud.inject("CreateSecurityGroupRules", "error:400 Bad request.")
    cloud.inject("DeleteSecurityGroup", "error:500")
    with pytest.raises(ProviderFault, match="still there") as told:
        asyncio.run(provider().create(request(FIREWALL, "f")))
    assert not isinstance(told.value, Refused)
    assert len(cloud.alive()) == 1


def test_a_name_too_long_for_a_description_is_refused_before_anything_is_made(cloud):
    with pytest.raises(Refused, match="shorter name"):
        asyncio.run(provider().create(request(FIREWALL, "f", tags=tags("s" * 200))))
    assert cloud.alive() == []


def test_a_stopped_machine_is_neither_running_nor_gone(cloud):
    async def walk():
        driver = provider(settle_s=0.0)
        _, machine = await launched(driver)
        cloud.lives.power_off(cloud.regions[REGION].servers[machine])
        return await driver.look(instance(machine)), await driver.gone(instance(machine))

    sight, evidence = asyncio.run(walk())
    assert (sight.state, sight.taken, evidence) == ("stopped", False, None)


def test_a_machine_that_no_host_has_room_for_is_no_capacity_and_is_ended_all_the_same():
    with pointed(Faults(no_host=True)) as cloud:

        async def walk():
            driver = provider()
            group, machine = await launched(driver)
            with pytest.raises(NoCapacity, match="No valid host"):
                await driver.look(instance(machine))
            assert await driver.gone(instance(machine)) is None
            for handle in (instance(machine), firewall(group)):
                await driver.destroy(handle)
                assert await driver.gone(handle)

        asyncio.run(walk())
        assert cloud.alive() == []


def test_a_machine_that_fails_otherwise_tells_why(cloud):
    async def walk():
        driver = provider()
        _, machine = await launched(driver)
        cloud.regions[REGION].servers[machine].error = "The disk caught fire."
        return await driver.look(instance(machine))

    sight = asyncio.run(walk())
    assert (sight.state, sight.why) == ("stopped", "The disk caught fire.")


def test_a_machine_that_is_only_put_aside_is_ended_by_force():
    with pointed(Faults(deletes="soft")) as cloud:

        async def walk():
            driver = provider(settle_s=0.0)
            _, machine = await launched(driver)
            await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine)) is None
            await driver.destroy(instance(machine))
            assert await driver.gone(instance(machine))

        asyncio.run(walk())
        assert [one.kind for one in cloud.alive()] == ["firewall"]


def test_a_delete_that_does_nothing_is_not_believed():
    with pointed(Faults(deletes="nothing")):

        async def walk():
            driver = provider(settle_s=0.0)
            _, machine = await launched(driver)
            await driver.destroy(instance(machine))
            return [await driver.gone(instance(machine)) for _ in range(3)]

        assert asyncio.run(walk()) == [None, None, None]


def test_a_volume_that_outlives_its_machine_is_found_and_deleted():
    with pointed(Faults(volumes="stays")) as cloud:

        async def walk():
            driver = provider(settle_s=0.0)
            _, machine = await launched(driver, volume=Volume("ssd", GIB))
            await driver.destroy(instance(machine))
            assert await provider(settle_s=0.0).gone(instance(machine)) is None
            (left,) = [one for one in await provider().find(STUDY) if one.kind == VOLUME]
            assert left.tags == tags()
            await provider().destroy(instance(machine))
            assert await driver.gone(instance(machine))

        asyncio.run(walk())
        assert [one.kind for one in cloud.alive()] == ["firewall"]


def test_a_resize_is_confirmed_and_tells_the_moment_in_which_the_machine_stands_still(cloud):
    async def walk():
        driver, moments = provider(), []
        _, machine = await launched(driver)
        await driver.resize(instance(machine), "m1.medium", lambda: moments.append("stopped"))
        sold = {one.cloud_id: one.offering for one in await driver.find(STUDY)}
        return moments, sold[machine], (await driver.look(instance(machine))).state

    assert asyncio.run(walk()) == (["stopped"], "m1.medium", "running")
    assert [len(cloud.calls(name)) for name in ("ResizeServer", "ConfirmResize")] == [1, 1]


@pytest.mark.parametrize(
    ("to", "kind", "why"),
    [("m1.tiny", Refused, "disk down"), ("m9", Refused, "no flavor"), ("c1.large", NoCapacity, "host")],
)
def test_a_resize_that_can_not_be_had_leaves_the_machine_as_it_is(cloud, to, kind, why):
    async def walk():
        driver = provider()
        _, machine = await launched(driver)
        cloud.faults = Faults(no_host=True)
        with pytest.raises(kind, match=why):
            await driver.resize(instance(machine), to)
        return (await driver.look(instance(machine))).state

    assert asyncio.run(walk()) == "running"


def test_zones_are_asked_for_and_told(cloud):
    async def walk():
        driver = provider()
        _, machine = await launched(driver, options={"zone": "az2", ALLOW[0]: ALLOW[1]})
        return await driver.zone(instance(machine)), await driver.zone(instance("0" * 36))

    assert asyncio.run(walk()) == ("az2", None)


@pytest.mark.parametrize(
    ("faults", "kind"),
    [
        (Faults(servers=0), QuotaReached),
        (Faults(cores=0), QuotaReached),
        (Faults(denied=frozenset({"CreateServer"})), NotAllowed),
        (Faults(at=()), Refused),
    ],
)
def test_what_nova_refuses_is_told_apart(faults, kind):
    with pointed(faults) as cloud:
        wanted = request(options={"zone": "nowhere"} if kind is Refused else {})
        with pytest.raises(kind) as told:
            asyncio.run(provider().create(wanted))
        assert type(told.value) is kind
        assert cloud.alive() == []


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("error:429 Too many", Throttled),
        ("error:413 OverLimit Retry...", Throttled),
        ("error:403 Quota exceeded for cores: Requested 1", QuotaReached),
        ("error:409 No more IP addresses available on network", NoCapacity),
        ("error:500", LostAnswer),
        ("error:503", LostAnswer),
        ("drop", LostAnswer),
        ("lost", LostAnswer),
        ("reset", LostAnswer),
        ("truncated", LostAnswer),
        ("part", LostAnswer),
        ("empty", LostAnswer),
    ],
)
def test_answers_to_a_create_are_told_apart_and_it_is_sent_once(cloud, what, kind):
    cloud.inject("CreateServer", what)
    with pytest.raises(kind) as told:
        asyncio.run(provider().create(request()))
    assert type(told.value) is kind
    assert len(cloud.calls("CreateServer")) == 1


def test_what_was_sent_is_looked_for_and_never_sent_again(cloud):
    async def walk():
        driver = provider()
        for what, token in (("lost", "a"), ("drop", "b")):
            cloud.inject("CreateServer", what)
            with pytest.raises(LostAnswer):
                await driver.create(request(token=token))
        made = await driver.create(request(token="a"))
        with pytest.raises(LostAnswer, match="sent before"):
            await driver.create(request(token="b"))
        return made

    made = asyncio.run(walk())
    assert [one.id for one in cloud.alive()] == [made]
    assert len(cloud.calls("CreateServer")) == 2


@pytest.mark.parametrize("what", ["error:429", "error:403 Quota exceeded for instances"])
def test_what_surely_made_nothing_may_be_asked_again(cloud, what):
    async def walk():
        driver = provider()
        cloud.inject("CreateServer", what)
        with pytest.raises((Throttled, QuotaReached)):
            await driver.create(request())
        return await driver.create(request())

    made = asyncio.run(walk())
    assert [one.id for one in cloud.alive()] == [made]


@pytest.mark.parametrize("what", ["lost", "5xx", "truncated", "empty", "reset"])
def test_a_group_whose_answer_is_lost_is_found_again(cloud, what):
    cloud.inject("CreateSecurityGroup", what)
    group = asyncio.run(provider().create(request(FIREWALL, "f")))
    assert [one.id for one in cloud.alive()] == [group]


@pytest.mark.parametrize("what", ["drop", "5xx", "truncated", "empty", "error:429"])
@pytest.mark.parametrize("action", ["ListServers", "ListVolumes", "ListFloatingIps", "ListSecurityGroups"])
def test_a_list_that_does_not_come_whole_tells_nothing(cloud, action, what):
    cloud.inject(action, what)
    with pytest.raises((Unlisted, Throttled)):
        asyncio.run(provider().find(STUDY, region=REGION))


def test_lists_come_in_pages_and_a_marker_that_is_cut_short_is_no_end():
    with pointed(Faults(page=1)) as cloud:

        async def walk():
            driver = provider()
            for token in "abc":
                await driver.create(request(token=token))
            assert len(await driver.find(STUDY)) == 3
            cloud.inject("ListServers", "cut", first=2)
            with pytest.raises(Unlisted):
                await driver.find(STUDY)

        asyncio.run(walk())


@pytest.mark.parametrize("newest", ["2.96", "2.69"])
def test_servers_of_a_cell_that_is_down_make_a_list_incomplete(newest):
    with pointed(Faults(newest=newest)) as cloud:

        async def walk():
            driver = provider()
            await driver.create(request())
            cloud.faults = Faults(newest=newest, down_cell=True)
            with pytest.raises(Unlisted, match="does not answer"):
                await driver.find(STUDY)
            return await driver.leftovers()

        listing = asyncio.run(walk())
        assert listing.found == ()
        assert "servers" in listing.unlisted[0]


def test_wrong_and_missing_credentials_are_told_apart(cloud, monkeypatch):
    monkeypatch.setenv("OS_PASSWORD", "wrong")
    with pytest.raises(BadCredentials, match="does not take"):
        asyncio.run(provider().find(STUDY))
    for name in cloud.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", "/dev/null")
    with pytest.raises(NoCredentials, match="OS_CLOUD") as told:
        asyncio.run(provider().find(STUDY))
    assert type(told.value) is NoCredentials
    assert cloud.calls("ListServers") == []


def test_a_cloud_that_is_not_there_is_not_reached_and_nothing_was_sent(cloud):
    driver = provider()
    asyncio.run(driver.find(STUDY))
    cloud.leave()
    for call in (driver.find(STUDY), driver.create(request()), provider().find(STUDY), provider().account()):
        with pytest.raises(Unreached):
            asyncio.run(asyncio.wait_for(call, 20))
    cloud.come_back()
    asyncio.run(driver.create(request()))
    assert len(cloud.alive()) == 1


def test_tokens_that_expire_are_renewed_and_no_create_is_lost_by_it(cloud):
    async def walk():
        driver = provider()
        await driver.create(request(token="a"))
        cloud.keystone.expire()
        await driver.create(request(token="b"))
        cloud.keystone.expire()
        return await driver.find(STUDY)

    assert len(asyncio.run(walk())) == 2
    assert len(cloud.calls("CreateServer")) == 3  # one was refused for its token, and sent again with another


def test_the_secrets_of_a_request_are_not_logged(cloud, caplog):
    caplog.set_level("DEBUG")
    access = Access(KeyPair("private", "public"), "client", "#cloud-config\nSECRET-IN-USER-DATA\n")
    asyncio.run(launched(provider(), access=access))
    assert cloud.keystone.password not in caplog.text
    assert "SECRET-IN-USER-DATA" not in caplog.text
    assert "user_data" not in caplog.text


def test_only_what_is_nobodys_or_anothers_is_left_alone(cloud):
    theirs = {kind: cloud.plant(kind, REGION, f"their-{kind}", {}) for kind in ("instance", "firewall", "volume")}
    other = dict(tags("study-b"))
    planted = [cloud.plant(kind, REGION, f"b-{kind}", other) for kind in ("instance", "firewall", "volume", ADDRESS)]

    async def walk():
        return await provider().find(STUDY), await provider().leftovers()

    mine, listing = asyncio.run(walk())
    assert mine == ()
    assert {one.cloud_id for one in listing.found} == set(planted)
    assert not {one.cloud_id for one in listing.found} & set(theirs.values())


def test_each_kind_is_ended_by_its_own_call_and_seen_gone(cloud):
    async def walk():
        driver = provider(settle_s=0.0)
        for kind in ("instance", "firewall", "volume", ADDRESS):
            handle = Handle(kind, REGION, cloud.plant(kind, REGION, kind, dict(tags())))
            assert await driver.gone(handle) is None
            await driver.destroy(handle)
            assert handle.cloud_id in (await driver.gone(handle) or "")
            await driver.destroy(handle)

    asyncio.run(walk())
    assert cloud.alive() == []


def test_absence_is_believed_only_after_it_settled():
    from tests.emulated.nova_requests import Clock

    clock = Clock()
    with pointed():

        async def walk():
            driver = provider(settle_s=300.0, clock=clock)
            told = []
            for seconds in (0.0, 100.0, 250.0):
                clock.now += seconds
                told.append(await driver.gone(instance("0" * 36)))
            return told

        first, second, third = asyncio.run(walk())
        assert (first, second) == (None, None)
        assert "350 s" in third
