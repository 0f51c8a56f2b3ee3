"""The emulated Compute Engine, row by row of its contract, with Google's own client as the witness."""

import json
import re
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.emulated import gce_told
from tests.emulated.gce import Faults, gce
from tests.emulated.gce_calls import Calls
from tests.emulated.gce_catalog import REGIONS
from tests.emulated.gce_requests import REGION, ZONE
from tests.emulated.gce_rights import TAKES
from tests.late import Late

exceptions = Late("google.api_core.exceptions")
transport = Late("google.auth.transport.requests")
compute_v1 = Late("google.cloud.compute_v1")
service_account = Late("google.oauth2.service_account")

PROJECT = "study-project"
IMAGE = "projects/ubuntu-os-cloud/global/images/ubuntu-2404-noble-amd64-v20261110"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
ID = "4b2c0b9e-7c41-4a5e-8a58-0c9b7c3f7d11"


def client(cloud, kind="Instances", **more):
    """A client of Google's for one service."""
    info = json.loads(Path(cloud.environ["GOOGLE_APPLICATION_CREDENTIALS"]).read_text())
    credentials = service_account.Credentials.from_service_account_info(info | more, scopes=[SCOPE])
    options = {"api_endpoint": cloud.url, "universe_domain": "gce.test"}
    return getattr(compute_v1, f"{kind}Client")(credentials=credentials, client_options=options)


def body(name="one", **more):
    """The least that makes a machine."""
    disk = {"boot": True, "auto_delete": True, "initialize_params": {"source_image": IMAGE}}
    return {"name": name, "machine_type": f"zones/{ZONE}/machineTypes/e2-micro", "disks": [disk], **more}


def insert(cloud, name="one", request_id=None, **more):
    asked = {"project": PROJECT, "zone": ZONE, "instance_resource": body(name, **more)}
    return client(cloud).insert_unary(request=asked | ({"request_id": request_id} if request_id else {}), retry=None)


def get(cloud, name="one"):
    return client(cloud).get(request={"project": PROJECT, "zone": ZONE, "instance": name}, retry=None)


def test_row_1_wrong_keys_are_refused(gce_cloud):
    with gce(project="another") as other, pytest.raises(exceptions.Unauthorized):
        client(gce_cloud, private_key=other.account.file("")["private_key"]).list(
            request={"project": PROJECT, "zone": ZONE}, retry=None
        )
    gce_cloud.account.expired = True
    with pytest.raises(exceptions.Unauthorized):
        get(gce_cloud)


def test_row_2_the_token_server_checks_the_signature_and_gives_tokens(gce_cloud):
    url = f"{gce_cloud.url}/token"
    good = gce_cloud.account.file(url, universe="googleapis.com")
    credentials = service_account.Credentials.from_service_account_info(good, scopes=[SCOPE])
    credentials.refresh(transport.Request())
    assert gce_cloud.account.granted == 1
    assert credentials.token.startswith("ya29.")
    with gce(project="another") as other:
        bad = good | {"private_key": other.account.file("")["private_key"]}
    with pytest.raises(Exception, match="invalid_grant"):
        service_account.Credentials.from_service_account_info(bad, scopes=[SCOPE]).refresh(transport.Request())
    assert gce_cloud.account.granted == 1


def test_rows_3_and_5_a_request_id_makes_one_and_a_name_is_taken(gce_cloud):
    first = insert(gce_cloud, request_id=ID)
    assert insert(gce_cloud, request_id=ID).name == first.name
    with pytest.raises(exceptions.Conflict, match="already exists"):
        insert(gce_cloud)
    assert len(gce_cloud.state.lives) == 1


def test_rows_6_and_7_an_operation_tells_that_there_is_no_room(gce_cloud):
    gce_cloud.faults = Faults(full=frozenset({ZONE}))
    made = insert(gce_cloud)
    asked = {"project": PROJECT, "zone": ZONE, "operation": made.name}
    told = client(gce_cloud, "ZoneOperations").get(request=asked, retry=None)
    assert told.status.name == "DONE"
    assert [one.code for one in told.error.errors] == ["ZONE_RESOURCE_POOL_EXHAUSTED"]
    with pytest.raises(exceptions.NotFound):
        get(gce_cloud)


def test_row_8_a_quota(gce_cloud):
    gce_cloud.faults = Faults(quota_cpus=1)
    with pytest.raises(exceptions.Forbidden) as caught:
        insert(gce_cloud)
    assert caught.value.errors[0]["reason"] == "quotaExceeded"


def test_rows_15_16_and_20_what_is_not_taken(gce_cloud):
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for wrong in (
        {"scheduling": {"termination_time": soon}},
        {"scheduling": {"provisioning_model": "SPOT"}},
        {"labels": {"a": "Upper"}},
        {"name": "Upper"},
        {"machine_type": f"zones/{ZONE}/machineTypes/e9-micro"},
    ):
        with pytest.raises(exceptions.BadRequest):
            insert(gce_cloud, **{"name": "two", **wrong})
    assert gce_cloud.alive() == []


def test_rows_18_and_19_disks_end_with_their_machine_and_not_before(gce_cloud):
    insert(gce_cloud)
    asked = {"project": PROJECT, "zone": ZONE, "disk": "one"}
    with pytest.raises(exceptions.BadRequest, match="already being used"):
        client(gce_cloud, "Disks").delete_unary(request=asked, retry=None)
    client(gce_cloud).delete_unary(request={"project": PROJECT, "zone": ZONE, "instance": "one"}, retry=None)
    assert gce_cloud.alive() == []


def test_row_21_rules(gce_cloud):
    rules = client(gce_cloud, "Firewalls")
    tcp = {"I_p_protocol": "tcp"}
    for wrong in (
        {"source_ranges": ["192.0.2.0/24", "2001:db8::/64"], "allowed": [tcp]},
        {"source_ranges": ["192.0.2.0/24"], "allowed": [tcp], "denied": [tcp]},
    ):
        with pytest.raises(exceptions.BadRequest):
            rules.insert_unary(request={"project": PROJECT, "firewall_resource": {"name": "r", **wrong}}, retry=None)
    assert gce_cloud.alive() == []


@pytest.mark.parametrize("partial", [True, False])
def test_rows_22_to_24_aggregated_lists(gce_cloud, partial):
    for name in ("one", "two", "three"):
        insert(gce_cloud, name)
    gce_cloud.faults = Faults(page=1)
    listed = dict(client(gce_cloud).aggregated_list(request={"project": PROJECT}, retry=None))
    assert set(listed) == {f"zones/{zone}" for zones in REGIONS.values() for zone in zones}
    gce_cloud.faults = Faults(unreachable=frozenset({"us-central1-b"}), partial=partial)
    if not partial:
        with pytest.raises(exceptions.ServiceUnavailable):
            client(gce_cloud).aggregated_list(request={"project": PROJECT}, retry=None)
        return
    page = next(client(gce_cloud).aggregated_list(request={"project": PROJECT}, retry=None).pages)
    assert list(page.unreachables) == ["zones/us-central1-b"]
    assert page.items["zones/us-central1-b"].warning.code == "UNREACHABLE"
    assert page.items["zones/us-central1-c"].warning.code == "NO_RESULTS_ON_PAGE"
    assert {one.name for one in page.items[f"zones/{ZONE}"].instances} == {"one", "two", "three"}
    with pytest.raises(exceptions.BadRequest):
        client(gce_cloud).aggregated_list(request={"project": PROJECT, "page_token": "mine"}, retry=None)


def test_rows_26_27_and_31_types_and_what_is_not_there(gce_cloud):
    insert(gce_cloud)
    types = client(gce_cloud, "MachineTypes")
    custom = types.get(request={"project": PROJECT, "zone": ZONE, "machine_type": "n2-custom-4-8192"}, retry=None)
    assert (custom.guest_cpus, custom.memory_mb) == (4, 8192)
    assert not [
        one for one in types.list(request={"project": PROJECT, "zone": ZONE}, retry=None) if "custom" in one.name
    ]
    with pytest.raises(exceptions.BadRequest, match="stopped"):
        client(gce_cloud).set_machine_type_unary(
            request={
                "project": PROJECT, "zone": ZONE, "instance": "one",
                "instances_set_machine_type_request_resource": {"machine_type": "zones/x/machineTypes/e2-standard-2"},
            },
            retry=None,
        )  # fmt: skip
    with pytest.raises(exceptions.NotFound, match=f"projects/{PROJECT}/zones/{ZONE}/instances/none' was not found"):
        get(gce_cloud, "none")


def test_every_call_that_it_answers_takes_a_permission():
    known = {name.lower() for name in TAKES}
    answered = {
        name.removeprefix("_").replace("_", ".") for name in vars(Calls) if re.fullmatch(r"_[a-z]+_[a-z]+", name)
    }
    assert answered == known


def test_it_leaves_and_comes_back_with_its_machines(gce_cloud):
    insert(gce_cloud)
    gce_cloud.leave()
    port = int(gce_cloud.url.rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 1):
        pass
    gce_cloud.come_back()
    assert get(gce_cloud).status == "RUNNING"


def test_calls_tell_what_they_make_and_change(gce_cloud):
    insert(gce_cloud)
    client(gce_cloud).delete_unary(request={"project": PROJECT, "zone": ZONE, "instance": "one"}, retry=None)
    made, ended = gce_cloud.journal
    assert (gce_cloud.made_by(made), gce_cloud.changed_by(made)) == ("one", ())
    assert (gce_cloud.made_by(ended), gce_cloud.changed_by(ended)) == (None, (f"{ZONE}/one",))
    assert (made.region, made.name, made.outcome) == (REGION, "compute:instances.insert", "200")


def test_bodies_that_lack_something_are_told(gce_cloud):
    insert(gce_cloud)
    assert {"no tags", "nothing ends it", "no request id", "a disk without tags"} <= set(gce_told.bodies(gce_cloud))
