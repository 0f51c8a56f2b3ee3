"""The calls of the emulated EC2: each goes to what it is about, or to moto."""

import json
import secrets
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

from tests.emulated import ec2_xml as xml
from tests.emulated.ec2_instances import Instances
from tests.emulated.ec2_query import Params, filters_of, many, matches, paged, tags_of
from tests.emulated.ec2_state import Placement, State
from tests.emulated.wire import Answer

_LISTS = {
    "DescribeVolumes": "volumeSet",
    "DescribeSecurityGroups": "securityGroupInfo",
    "DescribeNetworkInterfaces": "networkInterfaceSet",
    "DescribeInstanceTypes": "instanceTypeSet",
    "DescribeImages": "imagesSet",
}
_PLACEMENT_FILTERS = ("group-name", "group-arn", "spread-level", "state", "strategy", "tag:", "tag-key")
_TYPES: dict[tuple[object, ...], Answer] = {}


class Calls:
    """The calls of one cloud."""

    def __init__(self, state: State) -> None:
        self._is = state
        self._instances = Instances(state)

    def answer(self, service: str, region: str, action: str, params: Params) -> Answer:
        """Carry out a call whose signature was right."""
        if action in self._is.faults.unknown:
            return xml.error("InvalidAction", f"The action {action} is not valid for this web service.", service)
        if service == "ec2":
            self._is.account.ec2(region)
            self._is.lives.settle()
            if params.get("DryRun", "").lower() == "true" and self._is.faults.dry_run:
                return self._dry(region, action, params)
        own: dict[str, Callable[[str, Params], Answer]] = {
            "RunInstances": self._instances.run,
            "DescribeInstances": self._instances.describe,
            "TerminateInstances": self._instances.terminate,
            "StopInstances": self._instances.stop,
            "StartInstances": self._instances.start,
            "GetConsoleOutput": self._instances.console,
            "CreateSecurityGroup": self._create_group,
            "DeleteSecurityGroup": self._delete_group,
            "CreateTags": self._create_tags,
            "DescribeRegions": self._describe_regions,
            "CreatePlacementGroup": self._create_placement,
            "DescribePlacementGroups": self._describe_placements,
            "DeletePlacementGroup": self._delete_placement,
            "DescribeSpotInstanceRequests": self._describe_spots,
            "CancelSpotInstanceRequests": self._cancel_spots,
            "GetServiceQuota": self._quota,
        }
        if action in own:
            return own[action](region, params)
        kept = {key: value for key, value in params.items() if not key.startswith("DryRun")}
        if action in _LISTS:
            return self._listed(region, action, kept)
        return self._is.account.ask(service, region, action, kept)

    def _create_group(self, region: str, params: Params) -> Answer:
        refused = self._is.refused_parameter(params)
        if refused:
            return refused
        answer = self._is.account.ask("ec2", region, "CreateSecurityGroup", self._is.without_tags(params))
        if answer.status == 200:
            self._is.groups_at[xml.parse(answer.body).findtext("groupId") or ""] = self._is.lives.clock()
        return answer

    def _create_tags(self, region: str, params: Params) -> Answer:
        if self._is.faults.tags == "ignored":
            return Answer(200, b"<CreateTagsResponse><return>true</return></CreateTagsResponse>", xml.headers())
        return self._is.account.ask("ec2", region, "CreateTags", params)

    def _delete_group(self, region: str, params: Params) -> Answer:
        id = params.get("GroupId", "")
        backend = self._is.account.ec2(region)
        for reservation in list(backend.reservations.values()):
            for instance in reservation.instances:
                held = {group.id for group in instance.security_groups}
                held |= {group.id for card in instance.nics.values() for group in card.group_set}
                if id in held and self._state(instance) != "terminated":
                    return xml.error("DependencyViolation", f"resource {id} has a dependent object")
        return self._is.account.ask("ec2", region, "DeleteSecurityGroup", params)

    def _cancel_spots(self, region: str, params: Params) -> Answer:
        root = ET.Element("CancelSpotInstanceRequestsResponse")
        holder = ET.SubElement(root, "spotInstanceRequestSet")
        for id in many(params, "SpotInstanceRequestId"):
            if id not in self._is.spots:
                return xml.error(
                    "InvalidSpotInstanceRequestID.NotFound", f"The spot instance request ID '{id}' does not exist"
                )
            self._is.spots[id].cancelled = True
            item = ET.SubElement(holder, "item")
            xml.put(item, "spotInstanceRequestId", id)
            xml.put(item, "state", "cancelled")
        return Answer(200, xml.dump(root), xml.headers())

    def _state(self, instance: Any) -> str:
        return self._is.lives.state(instance.id) if instance.id in self._is.lives.all else str(instance.state)

    def _listed(self, region: str, action: str, params: Params) -> Answer:
        """Any other list, in pages, without what reads do not see yet."""
        kept = {key: value for key, value in params.items() if key not in {"NextToken", "MaxResults"}}
        static = action == "DescribeInstanceTypes"
        answer = self._once(region, kept) if static else self._is.account.ask("ec2", region, action, kept)
        if answer.status != 200:
            return answer
        root = xml.parse(answer.body)
        items = list(next(root.iter(_LISTS[action]), ()))
        for held in root.iter("attachmentSet"):
            for item in held.findall("item"):
                xml.put(item, "deleteOnTermination", self._ends_along(region, item))
        for item in items if action == "DescribeImages" else ():
            self._with_disks(item)
        late = {id for id, at in self._is.groups_at.items() if self._is.lives.clock() < at + self._is.faults.read_lag_s}
        return paged(
            root.tag,
            _LISTS[action],
            [item for item in items if xml.text(item, "groupId") not in late],
            params,
            self._is.faults.page,
        )

    def _with_disks(self, image: ET.Element) -> None:
        """The disks that an image brings beside its root, of which moto knows nothing."""
        holder = image.find("blockDeviceMapping")
        for name in self._is.account.disks.get(xml.text(image, "imageId"), ()):
            disk = ET.SubElement(ET.SubElement(image, "blockDeviceMapping") if holder is None else holder, "item")
            xml.put(disk, "deviceName", name)
            xml.put(ET.SubElement(disk, "ebs"), "deleteOnTermination", "false")

    def _once(self, region: str, params: Params) -> Answer:
        """The instance types, which never change, and which moto tells slowly."""
        key = (region, *sorted(params.items()))
        if key not in _TYPES:
            _TYPES[key] = self._is.account.ask("ec2", region, "DescribeInstanceTypes", params)
        return _TYPES[key]

    def _ends_along(self, region: str, attachment: ET.Element) -> str:
        """Whether an attached volume ends with its instance, which moto's own list of volumes leaves out."""
        instance = self._is.account.ec2(region).get_instance(xml.text(attachment, "instanceId"))
        return str(instance.block_device_mapping[xml.text(attachment, "device")].delete_on_termination).lower()

    def _create_placement(self, region: str, params: Params) -> Answer:
        name = params.get("GroupName", "")
        if (region, name) in self._is.placements:
            return xml.error("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
        tags = tags_of(params).get("placement-group", {}) if self._is.faults.tags == "kept" else {}
        self._is.placements[region, name] = Placement(f"pg-{secrets.token_hex(8)}", params.get("Strategy", ""), tags)
        return Answer(200, xml.dump(ET.Element("CreatePlacementGroupResponse")), xml.headers())

    def _describe_placements(self, region: str, params: Params) -> Answer:
        filters = filters_of(params)
        if strange := next((name for name in filters if not name.startswith(_PLACEMENT_FILTERS)), None):
            return xml.error("InvalidParameterValue", f"The filter '{strange}' is invalid")
        ids = set(many(params, "GroupId"))
        names = set(many(params, "GroupName")) | set(filters.pop("group-name", ()))
        items = []
        for (where, name), one in self._is.placements.items():
            if where != region or (ids and one.id not in ids) or (names and name not in names):
                continue
            if not matches(filters, one.tags):
                continue
            item = ET.Element("item")
            for key, value in (("groupId", one.id), ("groupName", name), ("strategy", one.strategy)):
                xml.put(item, key, value)
            xml.put(item, "state", "available")
            xml.put_tags(item, one.tags.items())
            items.append(item)
        return paged("DescribePlacementGroupsResponse", "placementGroupSet", items, params, self._is.faults.page)

    def _delete_placement(self, region: str, params: Params) -> Answer:
        name = params.get("GroupName", "")
        if (region, name) not in self._is.placements:
            return xml.error("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        lives = self._is.lives
        if any(life.placement == name and lives.state(life.id) != "terminated" for life in lives.all.values()):
            return xml.error("InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use.")
        del self._is.placements[region, name]
        return Answer(200, xml.dump(ET.Element("DeletePlacementGroupResponse")), xml.headers())

    def _describe_regions(self, region: str, params: Params) -> Answer:
        root = ET.Element("DescribeRegionsResponse")
        holder = ET.SubElement(root, "regionInfo")
        named = set(many(params, "RegionName"))
        for name in self._is.regions:
            if not named or name in named:
                item = ET.SubElement(holder, "item")
                xml.put(item, "regionName", name)
                xml.put(item, "regionEndpoint", f"ec2.{name}.amazonaws.com")
                xml.put(item, "optInStatus", "opt-in-not-required")
        return Answer(200, xml.dump(root), xml.headers())

    def _describe_spots(self, region: str, params: Params) -> Answer:
        items = []
        wanted = filters_of(params).get("tag-key")
        for spot in self._is.spots.values():
            if spot.region != region or (wanted is not None and not set(wanted) & set(spot.tags)):
                continue
            item = ET.Element("item")
            xml.put(item, "spotInstanceRequestId", spot.id)
            xml.put(item, "instanceId", spot.instance)
            xml.put(item, "state", self._is.spot_state(spot))
            xml.put_tags(item, spot.tags.items())
            items.append(item)
        return paged(
            "DescribeSpotInstanceRequestsResponse", "spotInstanceRequestSet", items, params, self._is.faults.page
        )

    def _quota(self, region: str, params: Params) -> Answer:
        said = {
            "Quota": {"ServiceCode": "ec2", "QuotaCode": params.get("QuotaCode"), "Value": self._is.faults.quota_vcpus}
        }
        return Answer(200, json.dumps(said).encode(), xml.headers("application/x-amz-json-1.1"))

    def _dry(self, region: str, action: str, params: Params) -> Answer:
        refused = self._is.refused_parameter(params)
        if refused:
            return refused
        if action == "TerminateInstances":
            missing = self._is.missing(region, list(many(params, "InstanceId")))
            if missing is not None:
                return missing
        if action == "DeleteSecurityGroup" and params.get("GroupId") not in self._group_ids(region):
            return xml.error("InvalidGroup.NotFound", f"The security group '{params.get('GroupId')}' does not exist")
        if action == "RunInstances":
            backend = self._is.account.ec2(region)
            if params.get("ImageId") not in backend.amis:
                return xml.error("InvalidAMIID.NotFound", f"The image id '[{params.get('ImageId')}]' does not exist")
        return xml.error("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")

    def _group_ids(self, region: str) -> set[str]:
        groups = self._is.account.ec2(region).groups
        return {id for of_vpc in groups.values() for id in of_vpc}
