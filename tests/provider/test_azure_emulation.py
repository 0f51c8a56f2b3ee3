"""The emulated Azure itself, row by row of arm_contract.md, through Azure's own clients."""

import copy
import socket

import pytest
from tests.emulated.arm import Faults, arm
from tests.emulated.arm_requests import Clock
from tests.late import Late

exceptions = Late("azure.core.exceptions")
identity = Late("azure.identity")
compute = Late("azure.mgmt.compute")
network = Late("azure.mgmt.network")
resources = Late("azure.mgmt.resource.resources")

REGION, GROUP, NAME = "eastus", "a-group", "a-machine"
QUICK = {"polling_interval": 0}


class Clients:
    """The official clients of one cloud, without retries."""

    def __init__(self, cloud, **changed):
        told = {"tenant_id": cloud.login.tenant, "client_id": cloud.login.client, "client_secret": cloud.login.secret}
        credential = identity.ClientSecretCredential(
            **told | {key: value for key, value in changed.items() if key in told},
            authority=cloud.url,
            disable_instance_discovery=True,
        )
        named = {"base_url": cloud.url, "credential_scopes": [f"{cloud.url}/.default"], "retry_total": 0, **QUICK}
        subscription = changed.get("subscription", cloud.subscription)
        self.compute = compute.ComputeManagementClient(credential, subscription, **named)
        self.network = network.NetworkManagementClient(credential, subscription, **named)
        self.resource = resources.ResourceManagementClient(credential, subscription, **named)

    def ground(self, group=GROUP):
        """A group with a network in it; the id of its subnet."""
        self.resource.resource_groups.create_or_update(group, {"location": REGION, "tags": {"a": "b"}})
        inside = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": []}
        body = {"location": REGION, "properties": inside}
        made = self.network.virtual_networks.begin_create_or_update(group, "net", body).result()
        return f"{made.id}/subnets/default"


def body_of(subnet, **more):
    """A machine in the smallest form."""
    address = {
        "name": "address",
        "sku": {"name": "Standard"},
        "properties": {"deleteOption": "Delete", "publicIPAllocationMethod": "Static"},
    }
    inside = {"subnet": {"id": subnet}, "publicIPAddressConfiguration": address}
    ways = [{"name": "inside", "properties": inside}]
    card = {"name": "card", "properties": {"deleteOption": "Delete", "ipConfigurations": ways}}
    image = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}
    root = {"name": "root", "createOption": "FromImage", "deleteOption": "Delete", "managedDisk": {}}
    properties = {
        "hardwareProfile": {"vmSize": "Standard_B1s"},
        "storageProfile": {"imageReference": image, "osDisk": root},
        "osProfile": {"adminUsername": "a", "adminPassword": "b", "customData": ""},
        "networkProfile": {"networkApiVersion": "2022-11-01", "networkInterfaceConfigurations": [card]},
        **more,
    }
    return {"location": REGION, "properties": properties}


def asked(clients, body, **more):
    return clients.compute.virtual_machines.begin_create_or_update(GROUP, NAME, body, **more)


def ended(call, *args, **more):
    """A call to its end, where it takes time."""
    result = call(*args, **more)
    return result.result() if hasattr(result, "result") else result


def code_of(call, *args, **more):
    with pytest.raises(exceptions.HttpResponseError) as caught:
        ended(call, *args, **more)
    told = caught.value
    return told.error.code if told.error else str(told)


def kinds(cloud):
    return sorted(one.kind for one in cloud.alive())


@pytest.fixture
def cloud(monkeypatch):
    with arm() as one:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", one.environ["REQUESTS_CA_BUNDLE"])
        yield one


def test_it_listens_on_loopback_only(cloud):
    socket.create_connection(("127.0.0.1", int(cloud.url.rpartition(":")[2])), 5).close()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"client_secret": "wrong"}, "AADSTS7000215"),
        ({"client_id": "11111111-1111-1111-1111-111111111111"}, "AADSTS700016"),
        ({"subscription": "11111111-1111-1111-1111-111111111111"}, "SubscriptionNotFound"),
    ],
)
def test_rows_1_and_3_who_asks_is_checked(cloud, changed, code):
    with pytest.raises(exceptions.HttpResponseError, match=code):
        list(Clients(cloud, **changed).resource.resource_groups.list())
    assert kinds(cloud) == []


def test_row_2_a_token_that_expired_is_refused(cloud):
    clients = Clients(cloud)
    list(clients.resource.resource_groups.list())
    for token in cloud.login.tokens:
        cloud.login.tokens[token] = 0.0
    with pytest.raises(exceptions.HttpResponseError, match="ExpiredAuthenticationToken"):
        list(clients.resource.resource_groups.list())
    cloud.login.tokens.clear()
    with pytest.raises(exceptions.HttpResponseError, match="InvalidAuthenticationToken"):
        list(clients.resource.resource_groups.list())


def test_row_4_what_no_role_allows_is_not_done(cloud):
    cloud.faults = Faults(denied=frozenset({"resourceGroups/write"}))
    clients = Clients(cloud)
    body = {"location": REGION}
    assert code_of(clients.resource.resource_groups.create_or_update, GROUP, body) == "AuthorizationFailed"
    assert kinds(cloud) == []


def test_rows_6_and_7_groups_are_made_once_and_go_with_all_that_they_hold(cloud):
    cloud.faults = Faults(terminate_s=0.2)
    clients = Clients(cloud)
    asked(clients, body_of(clients.ground())).result()
    groups = clients.resource.resource_groups
    groups.create_or_update(GROUP, {"location": REGION})
    assert code_of(groups.create_or_update, GROUP, {"location": "westeurope"}) == "InvalidResourceGroupLocation"
    ending = groups.begin_delete(GROUP)
    assert groups.get(GROUP).properties.provisioning_state == "Deleting"
    assert code_of(groups.create_or_update, GROUP, {"location": REGION}) == "ResourceGroupBeingDeleted"
    ending.result()
    assert code_of(groups.get, GROUP) == "ResourceGroupNotFound"
    assert kinds(cloud) == []


def test_rows_8_9_and_15_to_17_a_machine_comes_and_goes_with_its_parts(cloud):
    cloud.faults = Faults(pending_s=1.5, terminate_s=0.1)  # long enough to be seen by a busy machine
    clients = Clients(cloud)
    body = body_of(clients.ground())
    body["properties"]["storageProfile"]["dataDisks"] = [
        {"lun": 0, "name": "kept", "createOption": "Empty", "managedDisk": {"storageAccountType": "Premium_LRS"}}
    ]
    making = asked(clients, body)
    assert clients.compute.virtual_machines.get(GROUP, NAME).provisioning_state == "Creating"
    assert making.result().provisioning_state == "Succeeded"
    assert making.status() == "Succeeded"
    assert kinds(cloud).count("volume") == 2
    clients.compute.virtual_machines.begin_delete(GROUP, NAME, force_deletion=True).result()
    assert code_of(clients.compute.virtual_machines.get, GROUP, NAME) == "ResourceNotFound"
    assert kinds(cloud) == ["firewall", "virtualNetworks", "volume"], "the disk that says nothing of its end stays"
    clients.compute.virtual_machines.begin_delete(GROUP, NAME).result()


@pytest.mark.parametrize("code", ["AllocationFailed", "ZonalAllocationFailed"])
def test_rows_10_and_11_no_room_is_told_at_the_end_of_the_operation(cloud, code):
    cloud.faults = Faults(fails=(("Standard_B1s", code),), fails_s=0.1)
    clients = Clients(cloud)
    making = asked(clients, body_of(clients.ground()))
    with pytest.raises(exceptions.HttpResponseError, match=code):
        making.result()
    view = clients.compute.virtual_machines.get(GROUP, NAME, expand="instanceView")
    assert view.provisioning_state == "Failed"
    assert [one.code for one in view.instance_view.statuses] == [f"ProvisioningState/failed/{code}"]
    assert "instance" in kinds(cloud)


def test_row_12_a_quota_of_cores_is_kept(cloud):
    cloud.faults = Faults(quota_vcpus=0)
    clients = Clients(cloud)
    with pytest.raises(exceptions.HttpResponseError, match=r"\(OperationNotAllowed\).*quota"):
        asked(clients, body_of(clients.ground()))


def test_rows_13_and_14_the_same_name_twice(cloud):
    from azure.core import MatchConditions

    clients = Clients(cloud)
    body = body_of(clients.ground())
    asked(clients, body).result()
    asked(clients, body).result()
    with pytest.raises(exceptions.HttpResponseError) as caught:
        asked(clients, body, match_condition=MatchConditions.IfMissing)
    assert caught.value.status_code == 412
    other = copy.deepcopy(body)
    other["properties"]["osProfile"]["customData"] = "YQ=="
    assert code_of(asked, clients, other) == "PropertyChangeNotAllowed"
    assert kinds(cloud).count("instance") == 1


def test_rows_18_and_19_stopped_and_deallocated_are_there(cloud):
    clients = Clients(cloud)
    asked(clients, body_of(clients.ground())).result()
    machines = clients.compute.virtual_machines

    def power():
        view = machines.get(GROUP, NAME, expand="instanceView").instance_view
        return [one.code for one in view.statuses if one.code.startswith("PowerState/")]

    assert power() == ["PowerState/running"]
    machines.begin_deallocate(GROUP, NAME).result()
    assert power() == ["PowerState/deallocated"]
    machines.begin_update(GROUP, NAME, {"properties": {"hardwareProfile": {"vmSize": "Standard_B2s"}}}).result()
    machines.begin_start(GROUP, NAME).result()
    assert power() == ["PowerState/running"]
    assert machines.get(GROUP, NAME).hardware_profile.vm_size == "Standard_B2s"


def test_row_18_a_guest_that_powers_itself_off_is_stopped(monkeypatch):
    class Guest:
        address = "127.0.0.1"

        def __init__(self):
            self.up = True

        def alive(self):
            return self.up

        def kill(self):
            self.up = False

    guest = Guest()
    with arm(boot=lambda data, id: guest) as cloud:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", cloud.environ["REQUESTS_CA_BUNDLE"])
        clients = Clients(cloud)
        body = body_of(clients.ground())
        body["properties"]["osProfile"]["customData"] = "YQ=="
        asked(clients, body).result()
        guest.up = False
        view = clients.compute.virtual_machines.get(GROUP, NAME, expand="instanceView").instance_view
        assert "PowerState/stopped" in [one.code for one in view.statuses]
        assert "instance" in kinds(cloud)


def test_row_20_a_spot_machine_that_is_taken_back_is_deleted(cloud):
    clients = Clients(cloud)
    made = asked(clients, body_of(clients.ground(), priority="Spot", evictionPolicy="Delete")).result()
    cloud.reclaim(made.id)
    assert code_of(clients.compute.virtual_machines.get, GROUP, NAME) == "ResourceNotFound"
    assert kinds(cloud) == ["firewall", "virtualNetworks"]


def test_rows_21_25_29_and_30_what_does_not_fit_is_refused(cloud):
    clients = Clients(cloud)
    subnet = clients.ground()
    nowhere = body_of(subnet.replace("/net/", "/other/"))
    assert code_of(asked, clients, nowhere) == "InvalidResourceReference"
    basic = body_of(subnet)
    ways = basic["properties"]["networkProfile"]["networkInterfaceConfigurations"][0]["properties"]
    ways["ipConfigurations"][0]["properties"]["publicIPAddressConfiguration"]["sku"] = {"name": "Basic"}
    assert "BasicSku" in code_of(asked, clients, basic)
    fast = {"lun": 0, "name": "d", "createOption": "Empty", "managedDisk": {"storageAccountType": "UltraSSD_LRS"}}
    for disk in (fast, {**fast, "managedDisk": {"storageAccountType": "Premium_LRS"}, "diskIOPSReadWrite": 500}):
        body = body_of(subnet)
        body["properties"]["storageProfile"]["dataDisks"] = [disk]
        assert code_of(asked, clients, body) == "InvalidParameter"
    sets = clients.compute.availability_sets
    made = sets.create_or_update(GROUP, "set", {"location": REGION, "sku": {"name": "Aligned"}, "properties": {}})
    zoned = body_of(subnet, availabilitySet={"id": made.id}) | {"zones": ["1"]}
    assert code_of(asked, clients, zoned) == "BadRequest"
    assert "instance" not in kinds(cloud)


def test_rows_22_and_23_lists_come_in_pages(cloud):
    cloud.faults = Faults(page=2)
    clients = Clients(cloud)
    for number in range(5):
        cloud.plant("instance", REGION, f"machine-{number}", {})
    listed = list(clients.compute.virtual_machines.list_all())
    assert [one.name for one in listed] == [f"machine-{number}" for number in range(5)]
    assert {one.id.split("/")[4] for one in listed} == {"SOMEBODYS"}
    cloud.inject("virtualMachines/read", "cut")
    with pytest.raises(exceptions.HttpResponseError, match="InvalidSkipToken"):
        list(clients.compute.virtual_machines.list_all())


def test_row_24_what_was_just_made_may_not_be_seen():
    clock = Clock()
    with arm(Faults(read_lag_s=5.0), clock=clock) as cloud, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUESTS_CA_BUNDLE", cloud.environ["REQUESTS_CA_BUNDLE"])
        clients = Clients(cloud)
        clock.now += 10.0
        clients.resource.resource_groups.create_or_update(GROUP, {"location": REGION})
        assert code_of(clients.resource.resource_groups.get, GROUP) == "ResourceGroupNotFound"
        assert GROUP not in [one.name for one in clients.resource.resource_groups.list()]
        clock.now += 5.0
        assert clients.resource.resource_groups.get(GROUP).name == GROUP


def test_row_26_too_many_requests_do_nothing(cloud):
    cloud.inject("subscriptions/resourceGroups/write", "error:TooManyRequests")
    clients = Clients(cloud)
    with pytest.raises(exceptions.HttpResponseError) as caught:
        clients.resource.resource_groups.create_or_update(GROUP, {"location": REGION})
    assert caught.value.status_code == 429
    assert kinds(cloud) == []


def test_rows_27_and_28_what_is_sold_is_listed(cloud):
    clients = Clients(cloud)
    sizes = {one.name: one for one in clients.compute.resource_skus.list(filter=f"location eq '{REGION}'")}
    assert [one.type for one in sizes["Standard_M8ms"].restrictions] == ["Location"]
    assert {one.name: one.value for one in sizes["Standard_B1s"].capabilities}["vCPUs"] == "1"
    named = (REGION, "Canonical", "ubuntu-24_04-lts", "server")
    (newest,) = clients.compute.virtual_machine_images.list(*named, top=1, orderby="name desc")
    assert newest.name == "24.04.202611010"
    paid = clients.compute.virtual_machine_images.get(REGION, "paid", "appliance", "by-the-hour", newest.name)
    assert paid.plan.product == "appliance"
    assert next(one.limit for one in clients.compute.usage.list(REGION)) == 1000
