"""The resources that a call touches, for the decision of the user's policy."""

from tests.emulated.ec2_policy import Touched
from tests.emulated.ec2_query import Params, tags_of
from tests.emulated.ec2_state import State

_MUTATING = ("Run", "Create", "Delete", "Terminate", "Authorize", "Stop", "Start", "Modify", "Cancel", "Revoke")


def touched(state: State, service: str, region: str, action: str, params: Params) -> list[Touched]:
    """The resources that a call touches, with the tags that they have and get."""
    name = f"{service}:{action}"
    if service != "ec2" or not action.startswith(_MUTATING):
        return [Touched(name)]
    backend = state.account.ec2(region)
    arn = f"arn:aws:ec2:{region}:{state.account.id}:"
    parts = []
    if action in {"RunInstances", "CreateSecurityGroup"}:
        given = tags_of(params)
        spot = params.get("InstanceMarketOptions.MarketType") == "spot"
        made = ["instance", "volume", "network-interface", *(["spot-instances-request"] if spot else [])]
        made = made if action == "RunInstances" else ["security-group"]
        parts += [Touched(name, f"{arn}{kind}/*", given=given.get(kind, {})) for kind in made]
        stands = ["subnet/default"] if action == "RunInstances" else ["vpc/default"]
        parts += [Touched(name, arn + other) for other in stands]
        parts += [
            Touched("ec2:CreateTags", f"{arn}{kind}/*", given=tags, context={"ec2:CreateAction": action})
            for kind, tags in given.items()
        ]
    if action == "RunInstances":
        parts.append(Touched(name, f"arn:aws:ec2:{region}::image/{params.get('ImageId', '')}"))
    kinds = {"InstanceId": "instance", "GroupId": "security-group", "SecurityGroupId": "security-group"}
    kinds |= {"VolumeId": "volume", "SpotInstanceRequestId": "spot-instances-request"}
    for key, value in params.items():
        kind = kinds.get(key.partition(".")[0])
        if kind:
            spot_tags = state.spots[value].tags if value in state.spots else {}
            tags = {tag["key"]: tag["value"] for tag in backend.describe_tags({"resource-id": [value]})}
            parts.append(Touched(name, f"{arn}{kind}/{value}", tags=tags | spot_tags))
    return parts or [Touched(name)]
