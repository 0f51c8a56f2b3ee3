"""The emulated EC2 itself, row by row of ec2_contract.md, through Amazon's own client."""

import socket
import urllib.error
import urllib.request
from dataclasses import replace

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from tests.emulated.asks import Clock
from tests.emulated.ec2 import EUCALYPTUS, IMAGES, Faults, ec2
from tests.emulated.ec2_moto import moto_port
from tests.emulated.ec2_policy import Touched, permitted

TAGS = [{"Key": "cloudcmp:schema", "Value": "1"}]
SPECS = [{"ResourceType": kind, "Tags": TAGS} for kind in ("instance", "volume", "network-interface")]


def client(cloud, service="ec2", *, key=None, secret=None, region="us-east-1"):
    return boto3.client(
        service,
        endpoint_url=cloud.url,
        region_name=region,
        aws_access_key_id=key or cloud.account.key_id,
        aws_secret_access_key=secret or cloud.account.secret,
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
    )


def run(api, **more):
    asked = {"ImageId": IMAGES[1].id("us-east-1"), "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1, **more}
    return api.run_instances(**asked)["Instances"][0]


def code_of(call, *args, **more):
    with pytest.raises(ClientError) as caught:
        call(*args, **more)
    return caught.value.response["Error"]["Code"]


def states(api, **more):
    found = api.describe_instances(**more)["Reservations"]
    return {one["InstanceId"]: one["State"]["Name"] for each in found for one in each["Instances"]}


def test_it_listens_on_loopback_only():
    with ec2() as cloud:
        for port in (int(cloud.url.rpartition(":")[2]), moto_port()):
            socket.create_connection(("127.0.0.1", port), 5).close()
            with pytest.raises(OSError, match="refused"):
                socket.create_connection(("127.0.0.2", port), 5)


@pytest.mark.parametrize("service", ["ec2", "sts"])
def test_only_signed_requests_of_the_user_are_taken(service):
    with ec2() as cloud:
        ask = {"ec2": lambda api: api.describe_instances(), "sts": lambda api: api.get_caller_identity()}[service]
        ask(client(cloud, service))
        refused = {"ec2": ["AuthFailure"] * 2, "sts": ["SignatureDoesNotMatch", "InvalidClientTokenId"]}[service]
        assert [
            code_of(ask, client(cloud, service, secret="wrong")),
            code_of(ask, client(cloud, service, key="AKIAUNKNOWN000000000")),
        ] == refused


def test_an_unsigned_request_is_refused():
    with ec2() as cloud:
        body = b"Action=DescribeInstances&Version=2016-11-15"
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(cloud.url, body), timeout=10)
        assert caught.value.code >= 400
        caught.value.close()


def test_two_clouds_are_two_accounts():
    with ec2() as one, ec2() as other:
        run(client(one))
        assert [thing.kind for thing in one.alive()] == ["instance", "volume", "interface"]
        assert other.alive() == []
        assert code_of(client(other, key=one.account.key_id, secret=one.account.secret).describe_instances)


def test_a_token_gives_the_same_machine_again():
    with ec2() as cloud:
        api = client(cloud)
        first = run(api, ClientToken="a")
        assert run(api, ClientToken="a")["InstanceId"] == first["InstanceId"]
        assert run(api, ClientToken="b")["InstanceId"] != first["InstanceId"]
        assert code_of(run, api, ClientToken="a", InstanceType="t3.small") == "IdempotentParameterMismatch"
        found = states(api, Filters=[{"Name": "client-token", "Values": ["a"]}])
        assert found == {first["InstanceId"]: "running"}
        api.terminate_instances(InstanceIds=[first["InstanceId"]])
        assert code_of(run, api, ClientToken="a") == "IdempotentInstanceTerminated"
        cloud.faults = Faults(terminated_token="instance")
        assert run(api, ClientToken="a")["InstanceId"] == first["InstanceId"]


def test_features_can_be_switched_off():
    with ec2(EUCALYPTUS) as cloud:
        api = client(cloud)
        assert run(api, ClientToken="a")["InstanceId"] != run(api, ClientToken="a")["InstanceId"]
        assert code_of(run, api, TagSpecifications=SPECS) == "UnknownParameter"
        filters = [{"Name": "client-token", "Values": ["a"]}]
        assert code_of(api.describe_instances, Filters=filters) == "InvalidParameterValue"
        assert code_of(api.describe_instance_types) == "InvalidAction"
        assert api.describe_regions(DryRun=True)["Regions"]
        cloud.faults = replace(EUCALYPTUS, tags="stripped", shutdown="refused")
        made = run(api, TagSpecifications=SPECS)
        assert made.get("Tags", []) == []
        api.create_tags(Resources=[made["InstanceId"]], Tags=TAGS)
        assert code_of(run, api, InstanceInitiatedShutdownBehavior="terminate") == "UnknownParameter"
        cloud.faults = replace(EUCALYPTUS, tags="ignored")
        made = run(api, TagSpecifications=SPECS)
        api.create_tags(Resources=[made["InstanceId"]], Tags=TAGS)
        assert not api.describe_tags(Filters=[{"Name": "resource-id", "Values": [made["InstanceId"]]}])["Tags"]


def test_new_machines_are_not_seen_at_once_and_are_pending_first():
    clock = Clock(0.0)
    with ec2(Faults(read_lag_s=30, pending_s=60), clock=clock) as cloud:
        api = client(cloud)
        id = run(api)["InstanceId"]
        assert states(api) == {}
        assert code_of(states, api, InstanceIds=[id]) == "InvalidInstanceID.NotFound"
        assert code_of(api.terminate_instances, InstanceIds=[id]) == "InvalidInstanceID.NotFound"
        clock.now = 31
        assert states(api) == {id: "pending"}
        clock.now = 61
        assert states(api, InstanceIds=[id]) == {id: "running"}


def test_ending_takes_time_and_is_forgotten_later():
    clock = Clock(0.0)
    with ec2(Faults(terminate_s=20, forget_s=100), clock=clock) as cloud:
        api = client(cloud)
        id = run(api, TagSpecifications=SPECS)["InstanceId"]
        assert api.terminate_instances(InstanceIds=[id])["TerminatingInstances"][0]["CurrentState"]["Code"] == 32
        assert states(api) == {id: "shutting-down"}
        assert "instance" in {thing.kind for thing in cloud.alive()}
        clock.now = 21
        assert states(api) == {id: "terminated"}
        assert cloud.alive() == []
        clock.now = 200
        assert states(api) == {}


@pytest.mark.parametrize(("how", "then"), [("nothing", "running"), ("stopped", "stopped")])
def test_a_delete_may_be_taken_and_not_done(how, then):
    with ec2(Faults(terminate=how)) as cloud:
        api = client(cloud)
        id = run(api)["InstanceId"]
        api.terminate_instances(InstanceIds=[id])
        assert states(api) == {id: then}


def test_lists_come_in_pages_and_a_cut_token_is_refused():
    with ec2(Faults(page=2)) as cloud:
        api = client(cloud)
        made = {run(api)["InstanceId"] for _ in range(5)}
        pages = list(api.get_paginator("describe_instances").paginate())
        assert len(pages) == 3
        assert {
            one["InstanceId"] for page in pages for each in page["Reservations"] for one in each["Instances"]
        } == made
        cloud.inject("DescribeInstances", "cut")
        token = api.describe_instances()["NextToken"]
        assert code_of(api.describe_instances, NextToken=token) == "InvalidPaginationToken"


def test_quota_capacity_throttles_and_denial():
    with ec2(Faults(quota_vcpus=3, denied=frozenset({"StopInstances"}))) as cloud:
        api = client(cloud)
        id = run(api)["InstanceId"]
        assert code_of(run, api) == "VcpuLimitExceeded"
        assert code_of(run, api, InstanceMarketOptions={"MarketType": "spot"}) == "MaxSpotInstanceCountExceeded"
        assert code_of(api.stop_instances, InstanceIds=[id]) == "UnauthorizedOperation"
        for code in ("InsufficientInstanceCapacity", "RequestLimitExceeded", "RequestExpired"):
            cloud.inject("RunInstances", f"error:{code}")
            assert code_of(run, api) == code
        quota = client(cloud, "service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode="L-1216C47A")
        assert quota["Quota"]["Value"] == 3
        assert len(states(api)) == 1


def test_the_root_disk_is_there_and_everything_ends_with_its_machine():
    with ec2() as cloud:
        api = client(cloud)
        disk = {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 5, "DeleteOnTermination": True, "VolumeType": "gp3"}}
        id = run(api, BlockDeviceMappings=[disk], TagSpecifications=SPECS)["InstanceId"]
        assert sorted(thing.kind for thing in cloud.alive()) == ["instance", "interface", "volume", "volume"]
        assert all(("cloudcmp:schema", "1") in thing.tags for thing in cloud.alive())
        assert all(one["Attachments"][0]["DeleteOnTermination"] for one in api.describe_volumes()["Volumes"])
        api.terminate_instances(InstanceIds=[id])
        assert cloud.alive() == []


def test_a_group_in_use_is_not_deleted():
    with ec2(Faults(terminate_s=1000)) as cloud:
        api = client(cloud)
        group = api.create_security_group(GroupName="g", Description="d")["GroupId"]
        id = run(api, SecurityGroupIds=[group])["InstanceId"]
        assert code_of(api.delete_security_group, GroupId=group) == "DependencyViolation"
        api.terminate_instances(InstanceIds=[id])
        assert code_of(api.delete_security_group, GroupId=group) == "DependencyViolation"
        cloud.faults = Faults()
        cloud.state.lives.all[id].ends_at = 0.0
        cloud.alive()
        api.delete_security_group(GroupId=group)
        assert code_of(api.delete_security_group, GroupId=group) == "InvalidGroup.NotFound"


def test_a_spot_machine_can_be_taken_back():
    with ec2() as cloud:
        api = client(cloud)
        made = run(api, InstanceMarketOptions={"MarketType": "spot"})
        assert made["InstanceLifecycle"] == "spot"
        requests = api.describe_spot_instance_requests()["SpotInstanceRequests"]
        assert [(one["State"], one["InstanceId"]) for one in requests] == [("active", made["InstanceId"])]
        cloud.reclaim(made["InstanceId"])
        gone = api.describe_instances()["Reservations"][0]["Instances"][0]
        assert gone["State"]["Name"] == "terminated"
        assert gone["StateReason"]["Code"] == "Server.SpotInstanceTermination"
        assert cloud.alive() == []


def test_a_machine_that_powers_off_ends_as_it_was_told_to():
    class Off:
        address = "127.91.9.9"

        def alive(self):
            return False

        def kill(self):
            pass

    with ec2(boot=lambda user_data, id: Off()) as cloud:
        api = client(cloud)
        for behaviour, state in (("terminate", "terminated"), ("stop", "stopped")):
            id = run(api, InstanceInitiatedShutdownBehavior=behaviour)["InstanceId"]
            cloud.state.lives._boots.wait()
            assert states(api, InstanceIds=[id]) == {id: state}


def test_console_output_bears_the_host_keys():
    class Up:
        address = "127.91.9.9"
        host_public = "ssh-ed25519 AAAA"

        def alive(self):
            return True

        def kill(self):
            pass

    with ec2(boot=lambda user_data, id: Up()) as cloud:
        api = client(cloud)
        id = run(api)["InstanceId"]
        cloud.state.lives._boots.wait()
        assert "ssh-ed25519 AAAA" in api.get_console_output(InstanceId=id)["Output"]
        cloud.faults = Faults(console_s=1e9)
        assert api.get_console_output(InstanceId=id).get("Output", "") == ""


def test_no_address_leads_out_of_this_machine():
    with ec2() as cloud:
        api = client(cloud)
        cloud.plant("instance", "us-east-1", "somebody's", {})
        run(api)
        found = [one for each in api.describe_instances()["Reservations"] for one in each["Instances"]]
        assert len(found) == 2
        for one in found:
            for key in ("PublicIpAddress", "PrivateIpAddress"):
                assert one.get(key, "127.").startswith("127.")


def test_policy_conditions_are_decided_as_iam_does():
    allow = {"Effect": "Allow", "Action": "ec2:Terminate*", "Resource": "arn:aws:ec2:*:*:instance/*"}
    ours = {"StringEquals": {"aws:ResourceTag/mark": "1"}}
    policy = {"Version": "2012-10-17", "Statement": [{**allow, "Condition": ours}]}

    def asked(**more):
        return [Touched("ec2:TerminateInstances", "arn:aws:ec2:r:1:instance/i-1", **more)]

    assert permitted(policy, asked(tags={"mark": "1"}))
    assert not permitted(policy, asked(tags={"mark": "2"}))
    assert not permitted(policy, asked())
    assert not permitted(policy, [Touched("ec2:RunInstances", "arn:aws:ec2:r:1:instance/i-1", tags={"mark": "1"})])
    assert not permitted(policy, [*asked(tags={"mark": "1"}), *asked()])
    deny = {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"Null": {"aws:ResourceTag/keep": "false"}}}
    policy["Statement"].append(deny)
    assert permitted(policy, asked(tags={"mark": "1"}))
    assert not permitted(policy, asked(tags={"mark": "1", "keep": "yes"}))
    assert permitted(None, asked())


def test_a_disk_that_an_image_brings_stays_unless_the_call_says_otherwise():
    with ec2() as cloud:
        ec = client(cloud)
        image = replace(IMAGES[1], name="mine", owner=cloud.account.id, disks=("/dev/sdg",))
        cloud.account.add("us-east-1", image)
        asked = {"ImageId": image.id("us-east-1"), "InstanceType": "t3.micro", "MinCount": 1, "MaxCount": 1}
        (told,) = ec.describe_images(ImageIds=[asked["ImageId"]])["Images"]
        assert [one["DeviceName"] for one in told["BlockDeviceMappings"]] == ["/dev/xvda", "/dev/sdg"]
        ends = [{"DeviceName": "/dev/sdg", "Ebs": {"DeleteOnTermination": True}}]
        for more, left in (({"BlockDeviceMappings": ends}, 0), ({}, 1)):
            id = ec.run_instances(**asked, **more)["Instances"][0]["InstanceId"]
            ec.terminate_instances(InstanceIds=[id])
            assert [thing.kind for thing in cloud.alive()] == ["volume"] * left
