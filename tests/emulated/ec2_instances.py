"""Instances: made, looked at and ended, as EC2 does it beyond moto (ec2_contract.md says where EC2 says so)."""

import base64
import json
import secrets
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from tests.emulated import ec2_xml as xml
from tests.emulated.ec2_query import Params, filters_of, many, paged, tags_of
from tests.emulated.ec2_state import Spot, State
from tests.emulated.wire import Answer

_FAST = ("io1", "io2")


class Instances:
    """The calls about instances of one cloud."""

    def __init__(self, state: State) -> None:
        self._is = state

    def run(self, region: str, params: Params) -> Answer:
        token = params.get("ClientToken", "")
        shape = json.dumps(
            sorted((key, value) for key, value in params.items() if key not in {"ClientToken", "Version"})
        )
        known = self._is.tokens.get((region, token)) if self._is.faults.tokens == "honoured" and token else None
        if known is not None:
            return self._again(region, shape, *known)
        refusal = self._no_instance(region, params)
        if refusal is not None:
            return refusal
        user_data = base64.b64decode(params.get("UserData", "")).decode()
        tags = tags_of(params)
        answer = self._is.account.ask("ec2", region, "RunInstances", self._for_moto(region, params))
        if answer.status != 200:
            return answer
        root = xml.parse(answer.body)
        for item in xml.instances(root):
            id = xml.text(item, "instanceId")
            self._dress(region, id, tags if self._is.faults.tags == "kept" else {})
            self._fast(region, id, params)
            life = self._is.lives.begin(id, region, token, user_data)
            life.placement = params.get("Placement.GroupName", "")
            # Of two machines that name no zone, each is put into another one.
            life.zone = params.get("Placement.AvailabilityZone") or f"{region}{'ab'[len(self._is.lives.all) % 2]}"
            if self._is.faults.zones == "ignored":
                life.zone = f"{region}a"
            if params.get("InstanceMarketOptions.MarketType") == "spot":
                life.spot = f"sir-{secrets.token_hex(4)}"
                given = tags.get("spot-instances-request", {}) if self._is.faults.tags == "kept" else {}
                self._is.spots[life.spot] = Spot(life.spot, id, region, given)
            if token:
                self._is.tokens[region, token] = (shape, id)
            self._finish(item)
        return Answer(200, xml.dump(root), xml.headers())

    def _again(self, region: str, shape: str, before: str, id: str) -> Answer:
        """The same token once more: the same instance, unless something else was asked for."""
        if shape != before:
            text = "Arguments on this idempotent request are inconsistent with arguments used in previous request(s)."
            return xml.error("IdempotentParameterMismatch", text)
        if self._is.lives.state(id) == "terminated" and self._is.faults.terminated_token == "error":
            text = f"The request token corresponds to the terminated instance {id}"
            return xml.error("IdempotentInstanceTerminated", text)
        found = xml.parse(self._is.account.ask("ec2", region, "DescribeInstances", {"InstanceId.1": id}).body)
        reservation = next(found.iter("reservationSet"))[0]
        root = ET.Element("RunInstancesResponse")
        root.extend(list(reservation))
        for item in xml.instances(root):
            self._finish(item)
        return Answer(200, xml.dump(root), xml.headers())

    def _no_instance(self, region: str, params: Params) -> Answer | None:
        refused = self._is.refused_parameter(params)
        if refused:
            return refused
        if self._is.faults.shutdown == "refused" and "InstanceInitiatedShutdownBehavior" in params:
            return xml.error("UnknownParameter", "The parameter InstanceInitiatedShutdownBehavior is not recognized")
        for key, value in params.items():
            if value in _FAST and key.replace("VolumeType", "Iops") not in params:
                return xml.error("MissingParameter", f"The parameter iops must be specified for {value} volumes.")
        placement = params.get("Placement.GroupName")
        if placement and (region, placement) not in self._is.placements:
            return xml.error("InvalidPlacementGroup.Unknown", f"The Placement Group '{placement}' is unknown.")
        wanted = self._vcpus(params.get("InstanceType", "m1.small"))
        running = sum(
            self._vcpus(self._is.account.ec2(life.region).get_instance(life.id).instance_type)
            for life in self._is.lives.all.values()
            if life.region == region and self._is.lives.state(life.id) in {"pending", "running"}
        )
        if wanted + running > self._is.faults.quota_vcpus:
            if params.get("InstanceMarketOptions.MarketType") == "spot":
                return xml.error("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
            limit = self._is.faults.quota_vcpus
            text = f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows"
            return xml.error("VcpuLimitExceeded", text)
        return None

    @staticmethod
    def _vcpus(name: str) -> int:
        from moto.ec2.models.instance_types import INSTANCE_TYPES

        return int(INSTANCE_TYPES.get(name, {}).get("VCpuInfo", {}).get("DefaultVCpus", 1))

    def _for_moto(self, region: str, params: Params) -> Params:
        """The parameters as moto is to see them: with the root device always, tags and shutdown as this cloud does."""
        kept = self._is.without_tags(params)
        if self._is.faults.shutdown == "ignored":
            kept.pop("InstanceInitiatedShutdownBehavior", None)
        image = self._is.account.ec2(region).amis.get(params.get("ImageId", ""))
        devices = [
            value for key, value in kept.items() if key.startswith("BlockDeviceMapping") and key.endswith("DeviceName")
        ]
        for key, value in params.items():
            if key.endswith(".Ebs.VolumeType") and value in _FAST:
                kept[key] = "gp3"
        disks = self._is.account.disks.get(params.get("ImageId", ""), ())
        own = {} if image is None else {image.root_device_name: "true", **dict.fromkeys(disks, "false")}
        # A disk of the image without a size has its snapshot's.
        for key, value in params.items():
            head = key.removesuffix(".DeviceName")
            if key != head and value in own:
                kept.setdefault(f"{head}.Ebs.VolumeSize", "8")
        for number, name in enumerate([name for name in own if name not in devices], len(devices) + 1):
            head = f"BlockDeviceMapping.{number}"
            kept |= {
                f"{head}.DeviceName": name,
                f"{head}.Ebs.VolumeSize": "8",
                f"{head}.Ebs.DeleteOnTermination": own[name],
            }
        return kept

    def _fast(self, region: str, id: str, params: Params) -> None:
        """Disks of the fast types, which moto cannot make together with a machine."""
        backend = self._is.account.ec2(region)
        for device, disk in backend.get_instance(id).block_device_mapping.items():
            head = next((key.removesuffix(".DeviceName") for key, value in params.items() if value == device), "")
            kind = params.get(f"{head}.Ebs.VolumeType")
            if kind in _FAST:
                volume = backend.volumes[disk.volume_id]
                volume.volume_type, volume.iops = kind, int(params[f"{head}.Ebs.Iops"])

    def _dress(self, region: str, id: str, tags: dict[str, dict[str, str]]) -> None:
        """What moto leaves out: the first interface ends with its instance and bears its tags."""
        for card in self._is.account.ec2(region).get_instance(id).nics.values():
            card.delete_on_termination = True
            card.add_tags(tags.get("network-interface", {}))

    def terminate(self, region: str, params: Params) -> Answer:
        ids = list(many(params, "InstanceId"))
        missing = self._is.missing(region, ids)
        if missing is not None:
            return missing
        root = ET.Element("TerminateInstancesResponse")
        holder = ET.SubElement(root, "instancesSet")
        for id in ids:
            self._is.lives.adopt(id, region)
            before = self._is.lives.state(id)
            item = ET.SubElement(holder, "item")
            xml.put(item, "instanceId", id)
            xml.put_state(item, "previousState", before)
            if self._is.faults.terminate != "nothing" and before != "terminated":
                becomes = "stopped" if self._is.faults.terminate == "stopped" else "terminated"
                self._is.lives.end(id, ("Client.UserInitiatedShutdown", "User initiated shutdown"), becomes)
            xml.put_state(item, "currentState", "terminated" if before == "terminated" else "shutting-down")
        return Answer(200, xml.dump(root), xml.headers())

    def stop(self, region: str, params: Params) -> Answer:
        answer = self._is.account.ask("ec2", region, "StopInstances", params)
        for id in many(params, "InstanceId"):
            life = self._is.lives.all.get(id)
            if answer.status == 200 and life is not None and life.machine is not None:
                machine, life.machine = life.machine, None  # it stopped, and did not end
                machine.kill()
        return answer

    def start(self, region: str, params: Params) -> Answer:
        answer = self._is.account.ask("ec2", region, "StartInstances", params)
        if answer.status == 200:
            for id in many(params, "InstanceId"):
                self._is.lives.again(id)
        return answer

    def describe(self, region: str, params: Params) -> Answer:
        ids = list(many(params, "InstanceId"))
        missing = self._is.missing(region, ids)
        if missing is not None:
            return missing
        filters = filters_of(params)
        tokens, states = filters.pop("client-token", None), filters.pop("instance-state-name", None)
        if tokens is not None and not self._is.faults.token_filter:
            return xml.error("InvalidParameterValue", "The filter 'client-token' is invalid")
        asked: Params = {f"InstanceId.{n}": id for n, id in enumerate(ids, 1)}
        for n, (name, values) in enumerate(filters.items(), 1):
            asked[f"Filter.{n}.Name"] = name
            asked |= {f"Filter.{n}.Value.{k}": value for k, value in enumerate(values, 1)}
        kept = []
        for reservation in self._reservations(region, asked):
            for item in xml.instances(reservation):
                id = xml.text(item, "instanceId")
                self._finish(item)
                life = self._is.lives.all.get(id)
                right = tokens is None or (life is not None and life.token in tokens)
                if (
                    right
                    and self._is.lives.visible(id)
                    and (states is None or xml.text(item, "instanceState/name") in states)
                ):
                    kept.append(reservation)
        return paged("DescribeInstancesResponse", "reservationSet", kept, params, self._is.faults.page)

    def _reservations(self, region: str, asked: Params) -> Iterator[ET.Element]:
        token = ""
        while True:
            answer = self._is.account.ask(
                "ec2", region, "DescribeInstances", asked | ({"NextToken": token} if token else {})
            )
            root = xml.parse(answer.body)
            yield from next(root.iter("reservationSet"), ())
            token = root.findtext("nextToken") or ""
            if not token:
                return

    def _finish(self, item: ET.Element) -> None:
        """What moto says of an instance, put right: state, token, and addresses that lead to the test's own machine."""
        life = self._is.lives.all.get(xml.text(item, "instanceId"))
        for card in item.iter("association"):
            xml.put(card, "publicIp", life.address if life else "127.91.0.0")
        for name in ("dnsName", "ipAddress"):
            xml.drop(item, name)
        if life is None:
            xml.put(item, "privateIpAddress", "127.91.0.0")
            return
        state = self._is.lives.shown(life.id)
        xml.put_state(item, "instanceState", state)
        xml.put(item, "clientToken", life.token)
        for place in item.iter("placement"):
            xml.put(place, "availabilityZone", life.zone or f"{life.region}a")
        if life.reason[0]:
            holder = item.find("stateReason")
            holder = ET.SubElement(item, "stateReason") if holder is None else holder
            xml.put(holder, "code", life.reason[0])
            xml.put(holder, "message", f"{life.reason[0]}: {life.reason[1]}")
        if life.spot:
            xml.put(item, "spotInstanceRequestId", life.spot)
        if state in {"running", "pending"}:
            xml.put(item, "privateIpAddress", getattr(life.machine, "inside", life.address))
            if state == "running":
                xml.put(item, "ipAddress", life.address)

    def console(self, region: str, params: Params) -> Answer:
        """What the machine printed: cloud-init's block of public host keys, once it is up."""
        id = params.get("InstanceId", "")
        missing = self._is.missing(region, [id])
        if missing is not None:
            return missing
        life = self._is.lives.all[id]
        keys = getattr(life.machine, "host_public", "")
        said = f"-----BEGIN SSH HOST KEY KEYS-----\n{keys} root@emulated\n-----END SSH HOST KEY KEYS-----\n"
        ready = keys and self._is.lives.clock() >= life.began + self._is.faults.console_s
        root = ET.Element("GetConsoleOutputResponse")
        xml.put(root, "instanceId", id)
        xml.put(root, "output", base64.b64encode(said.encode() if ready else b"").decode())
        return Answer(200, xml.dump(root), xml.headers())
