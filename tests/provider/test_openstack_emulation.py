"""The emulated OpenStack, row by row of nova_contract.md, through openstacksdk's own objects."""

import base64
import warnings

import pytest
import requests
from tests.emulated.nova import IMAGES, REGIONS, Faults
from tests.emulated.nova_requests import REGION
from tests.late import Late
from tests.provider.openstacks import pointed

from cloudcmp.provider.openstack import policy

openstack = Late("openstack")

DEBIAN = IMAGES[1].id
pytestmark = pytest.mark.filterwarnings("ignore")  # the library warns of what it does itself


@pytest.fixture
def cloud(monkeypatch):
    with pointed(patch=monkeypatch) as one:
        yield one


def client(**more):
    """The official client, as the environment has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return openstack.connect(**more)


def server(to, cloud, name="one", **more):
    """A server, made by the official client."""
    fields = {"flavor_id": "2", "image_id": DEBIAN, "networks": [{"uuid": cloud.regions[REGION].id_of("private")}]}
    return to.compute.create_server(name=name, metadata={"a:b": "c"}, **{**fields, **more})


def test_rows_1_to_6_who_asks_is_checked_and_versions_are_told(cloud, monkeypatch):
    to = client()
    assert to.session.get_project_id()
    catalog = to.session.auth.get_access(to.session).service_catalog.get_endpoints(interface="public")
    assert {(kind, one["region"]) for kind, some in catalog.items() for one in some} == {
        (kind, region) for kind in ("compute", "image", "network", "volumev3") for region in REGIONS
    }
    data = to.compute.get_endpoint_data()
    assert (data.min_microversion, data.max_microversion) == ((2, 1), (2, 96))
    assert requests.get(f"{cloud.url}/{REGION}/compute/v2.1/", timeout=5).status_code == 200
    assert requests.get(f"{cloud.url}/{REGION}/compute/v2.1/servers/detail", timeout=5).status_code == 401
    above = to.compute.get("/servers/detail", microversion="2.97")
    assert above.status_code == 406
    cloud.keystone.expire()
    assert list(to.compute.servers()) == []  # with a new token
    assert len(cloud.calls("Authenticate")) == 2
    monkeypatch.setenv("OS_PASSWORD", "wrong")
    with pytest.raises(Exception, match="401"):
        client().authorize()


def test_row_2_access_rules_open_what_they_name():
    with pointed(policy=policy()) as cloud:
        to = client()
        assert list(to.compute.servers()) == []
        group = next(iter(cloud.regions[REGION].groups))
        assert to.network.get("/security-groups").status_code == 200
        assert to.network.get(f"/security-groups/{group}").status_code == 401
        assert to.block_storage.get("/types").status_code == 401


def test_rows_7_to_9_and_14_to_19_a_server_lives_and_ends(cloud):
    to = client()
    first, second = server(to, cloud), server(to, cloud)
    assert first.id != second.id
    first = to.compute.wait_for_server(first)
    assert (first.status, first.metadata, first.flavor["original_name"]) == ("ACTIVE", {"a:b": "c"}, "m1.small")
    cloud.faults = Faults(page=1)
    assert {one.id for one in to.compute.servers()} == {first.id, second.id}
    assert to.compute.get("/servers/detail", params={"marker": "x"}).status_code == 400
    cloud.lives.power_off(cloud.regions[REGION].servers[first.id])
    assert to.compute.get_server(first.id).status == "SHUTOFF"
    port = next(iter(to.network.ports(device_id=second.id)))
    public = to.network.find_network("public")
    floating = to.network.create_ip(floating_network_id=public.id, port_id=port.id, description="mine")
    assert (floating.status, floating.description) == ("ACTIVE", "mine")
    with pytest.raises(openstack.exceptions.ConflictException, match="already has a floating IP"):
        to.network.create_ip(floating_network_id=public.id, port_id=port.id)
    for one in (first, second):
        to.compute.delete_server(one.id)
        to.compute.wait_for_delete(one)
    assert to.network.get_ip(floating.id).port_id is None
    to.network.delete_ip(floating.id)
    assert cloud.alive() == []


def test_rows_10_to_13_what_cannot_be_had(cloud):
    to = client()
    with pytest.raises(openstack.exceptions.ForbiddenException, match="zero disk"):
        server(to, cloud, flavor_id="9c0f7f0e-51d7-4d0a-8c9d-5b3d6f2a1b00")
    with pytest.raises(openstack.exceptions.BadRequestException, match="Network"):
        server(to, cloud, networks=[{"uuid": "nowhere"}])
    with pytest.raises(openstack.exceptions.BadRequestException, match="zone"):
        server(to, cloud, availability_zone="nowhere")
    cloud.faults = Faults(servers=0)
    with pytest.raises(openstack.exceptions.ForbiddenException, match="Quota exceeded"):
        server(to, cloud)
    cloud.faults = Faults(no_host=True)
    made = server(to, cloud)
    with pytest.raises(openstack.exceptions.ResourceFailure):
        to.compute.wait_for_server(made)
    assert "No valid host" in to.compute.get_server(made.id).fault["message"]


def test_rows_13_and_14_volumes_end_with_their_server_and_bear_no_name(cloud):
    to = client()
    disk = {"boot_index": 0, "uuid": DEBIAN, "source_type": "image", "destination_type": "volume", "volume_size": 5,
            "volume_type": "ssd", "delete_on_termination": True}  # fmt: skip
    made = to.compute.wait_for_server(server(to, cloud, image_id=None, block_device_mapping=[disk]))
    (volume,) = to.block_storage.volumes()
    assert (volume.name, volume.metadata, volume.size, volume.status) == ("", {}, 5, "in-use")
    assert [one["id"] for one in to.compute.get_server(made.id).attached_volumes] == [volume.id]
    with pytest.raises(openstack.exceptions.BadRequestException):
        to.block_storage.delete_volume(volume.id)
    to.compute.delete_server(made.id)
    assert list(to.block_storage.volumes()) == []
    body = {"server": {"name": "x", "flavorRef": "2", "block_device_mapping_v2": [disk], "metadata": {}}}
    told = to.compute.post("/servers", json=body, microversion="2.66")
    assert (told.status_code, "volume_type" in told.text) == (400, True)


def test_rows_16_and_17_older_and_broken_novas(cloud):
    to = client()
    server(to, cloud)
    assert "id" in to.compute.get("/servers/detail", microversion="2.46").json()["servers"][0]["flavor"]
    cloud.faults = Faults(down_cell=True)
    new, old = (to.compute.get("/servers/detail", microversion=one).json()["servers"] for one in ("2.69", "2.68"))
    assert [(one["status"], "metadata" in one) for one in new] == [("UNKNOWN", False)]
    assert old == []


def test_row_20_a_server_that_is_put_aside_is_ended_by_force(cloud):
    to = client()
    made = to.compute.wait_for_server(server(to, cloud))
    cloud.faults = Faults(deletes="soft")
    to.compute.delete_server(made.id)
    assert to.compute.get_server(made.id).status == "SOFT_DELETED"
    to.compute.delete_server(made.id, force=True)
    assert cloud.alive() == []


def test_row_21_a_resize_waits_for_a_word(cloud):
    to = client()
    made = to.compute.wait_for_server(server(to, cloud))
    to.compute.resize_server(made.id, "3")
    assert to.compute.wait_for_server(made, status="VERIFY_RESIZE").flavor["original_name"] == "m1.medium"
    to.compute.confirm_server_resize(made.id)
    assert to.compute.get_server(made.id).status == "ACTIVE"
    with pytest.raises(openstack.exceptions.BadRequestException, match="disk down"):
        to.compute.resize_server(made.id, "2")


def test_rows_22_to_25_groups(cloud):
    to = client()
    place = to.compute.create_server_group(name="far apart", policy="anti-affinity")
    assert [one.name for one in to.compute.server_groups()] == ["far apart"]
    old = to.compute.post("/os-server-groups", json={"server_group": {"name": "x", "policy": "affinity"}},
                          microversion="2.63")  # fmt: skip
    assert old.status_code == 400
    to.compute.delete_server_group(place.id)
    group = to.network.create_security_group(name="g", description="d" * 255)
    assert {one["direction"] for one in group.security_group_rules} == {"egress"}
    rule = {"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "security_group_id": group.id}
    both = [{**rule, "port_range_min": 22}, {**rule, "security_group_id": "nowhere"}]
    assert to.network.post("/security-group-rules", json={"security_group_rules": both}).status_code == 404
    assert len(to.network.get_security_group(group.id).security_group_rules) == 2
    made = to.compute.wait_for_server(server(to, cloud, security_groups=[{"name": group.id}]))
    with pytest.raises(openstack.exceptions.ConflictException, match="in use"):
        to.network.delete_security_group(group.id)
    to.compute.delete_server(made.id)
    to.network.delete_security_group(group.id)
    with pytest.raises(openstack.exceptions.BadRequestException):
        to.network.create_security_group(name="g", description="d" * 256)
    assert cloud.alive() == []


def test_rows_27_to_29_limits_administrators_and_what_is_not_there(cloud):
    to = client()
    group = to.network.create_security_group(name="theirs", description="")
    cloud.regions[REGION].groups[group.id].project = "another"
    assert group.id not in {one.id for one in to.network.security_groups()}
    cloud.faults = Faults(admin=True, groups=0, floating=0, denied=frozenset({"DeleteServer", "DeleteSecurityGroup"}))
    assert group.id in {one.id for one in to.network.security_groups()}
    with pytest.raises(openstack.exceptions.ConflictException, match="Quota exceeded"):
        to.network.create_security_group(name="more", description="")
    with pytest.raises(openstack.exceptions.ConflictException, match="Quota exceeded"):
        to.network.create_ip(floating_network_id=to.network.find_network("public").id)
    assert to.compute.delete("/servers/nobodys").status_code == 404
    assert to.network.delete(f"/security-groups/{group.id}").status_code == 403


def test_user_data_and_config_drive_come_as_they_were_given(cloud):
    to = client()
    made = server(to, cloud, user_data=base64.b64encode(b"hello").decode(), config_drive=True)
    assert cloud.regions[REGION].servers[made.id].user_data == "hello"


def test_images_come_in_pages(cloud):
    cloud.faults = Faults(page=2)
    assert {one.id for one in client().image.images()} == {one.id for one in IMAGES}
