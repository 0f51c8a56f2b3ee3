"""The resources that a call touches, for the decision of the user's policy."""

from tests.emulated.ec2_policy import Touched
from tests.emulated.ec2_query import Params, tags_of
from tests.emulated.ec2_state import State

_MUTATING = ("Run", "Create", "Delete", "Terminate", "Authorize", "Stop", "Start", "Modify", "Cancel", "Revoke")
_MADE = {
    "RunInstances": ("instance", "volume", "network-interface", "spot-instances-request"),
    "CreateSecurityGroup": ("security-group",),
    "CreatePlacementGroup": ("placement-group",),
}
_BENEATH = {"RunInstances": ("subnet", "security-group"), "CreateSecurityGroup": ("vpc",)}
_KINDS = {
    "InstanceId": "instance",
    "GroupId": "security-group",
    "SecurityGroupId": "security-group",
    "VolumeId": "volume",
    "SpotInstanceRequestId": "spot-instances-request",
}


def touched(state: State, service: str, region: str, action: str, params: Params) -> list[Touched]:
    """The resources that a call touches, with the tags that they have and get."""
    name = f"{service}:{action}"
    if service != "ec2" or not action.startswith(_MUTATING):
        return [Touched(name)]
    arn = f"arn:aws:ec2:{region}:{state.account.id}:"
    parts: list[Touched] = []
    if action in _MADE:
        given = tags_of(params)
        spot = params.get("InstanceMarketOptions.MarketType") == "spot"
        made = [kind for kind in _MADE[action] if kind != "spot-instances-request" or spot]
        parts += [Touched(name, f"{arn}{kind}/*", given=given.get(kind, {})) for kind in made]
        parts += [Touched(name, f"{arn}{other}/default") for other in _BENEATH.get(action, ())]
        parts += [
            Touched("ec2:CreateTags", f"{arn}{kind}/*", given=tags, context={"ec2:CreateAction": action})
            for kind, tags in given.items()
        ]
    if action == "RunInstances":
        parts.append(Touched(name, f"arn:aws:ec2:{region}::image/{params.get('ImageId', '')}"))
    for key, value in params.items():
        words = [word for word in key.split(".") if not word.isdigit()]
        kind = "placement-group" if key == "Placement.GroupName" else _KINDS.get(words[-1]) or _KINDS.get(words[0], "")
        if kind:
            parts.append(Touched(name, f"{arn}{kind}/{value}", tags=_tags(state, region, kind, value)))
    if action == "DeletePlacementGroup":
        group = params.get("GroupName", "")
        parts.append(
            Touched(name, f"{arn}placement-group/{group}", tags=_tags(state, region, "placement-group", group))
        )
    return parts or [Touched(name)]


def _tags(state: State, region: str, kind: str, id: str) -> dict[str, str]:
    if kind == "placement-group":
        found = state.placements.get((region, id))
        return found.tags if found else {}
    if id in state.spots:
        return state.spots[id].tags
    listed = state.account.ec2(region).describe_tags({"resource-id": [id]})
    return {tag["key"]: tag["value"] for tag in listed}
