"""The minimal IAM policy for cloudcmp, generated from the driver's calls.

Condition keys: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

from typing import Any

TAG, TAG_VALUE = "cloudcmp:schema", "1"
NONEXISTENT_INSTANCE = "i-00000000000000000"
NONEXISTENT_GROUP = "sg-00000000000000000"
"""Ids that nobody owns: a dry run on them tests the right to delete before anything is created."""

READ_ACTIONS = (
    "ec2:DescribeImages",
    "ec2:DescribeInstances",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribePlacementGroups",
    "ec2:DescribeRegions",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeVolumes",
    "servicequotas:GetServiceQuota",
    "sts:GetCallerIdentity",
)
CREATE_ACTIONS = {
    "ec2:RunInstances": ("instance", "network-interface", "spot-instances-request", "volume"),
    "ec2:CreateSecurityGroup": ("security-group",),
    "ec2:CreatePlacementGroup": ("placement-group",),
}
"""Resources created, only with our tag in the creating call; STANDS_ON has the resources that this needs."""
USES = {
    "ec2:RunInstances": ("image", "placement-group", "security-group", "subnet"),
    "ec2:CreateSecurityGroup": ("vpc",),
}
CHANGE_ACTIONS = {
    "ec2:AuthorizeSecurityGroupIngress": "security-group",
    "ec2:DeletePlacementGroup": "placement-group",
    "ec2:DeleteSecurityGroup": "security-group",
    "ec2:DeleteVolume": "volume",
    "ec2:ModifyInstanceAttribute": "instance",
    "ec2:StartInstances": "instance",
    "ec2:StopInstances": "instance",
    "ec2:TerminateInstances": "instance",
}
"""Actions allowed only on resources with our tag."""

DATA_SET_LISTS = ("dynamodb:ListTables", "s3:ListAllMyBuckets", "sqs:ListQueues")
"""Actions on storage services that no name limits."""
DATA_SET_ACTIONS = {
    "s3": (
        ("CreateBucket", "DeleteBucket", "GetBucketTagging", "ListBucket", "ListBucketMultipartUploads",
         "ListBucketVersions", "PutBucketTagging"),
        ("arn:aws:s3:::cloudcmp-*",),
    ),
    "s3 objects": (
        ("AbortMultipartUpload", "DeleteObject", "DeleteObjectVersion", "GetObject", "PutObject"),
        ("arn:aws:s3:::cloudcmp-*/*",),
    ),
    "dynamodb": (
        ("BatchWriteItem", "CreateTable", "DeleteItem", "DeleteTable", "DescribeTable", "GetItem",
         "ListTagsOfResource", "PutItem", "Query", "TagResource"),
        ("arn:aws:dynamodb:*:*:table/cloudcmp-*", "arn:aws:dynamodb:*:*:table/cloudcmp-*/index/*"),
    ),
    "sqs": (
        ("CreateQueue", "DeleteMessage", "DeleteQueue", "GetQueueUrl", "ListQueueTags", "PurgeQueue", "ReceiveMessage",
         "SendMessage", "TagQueue"),
        ("arn:aws:sqs:*:*:cloudcmp-*",),
    ),
}  # fmt: skip
"""Actions on data sets, those of the agents included, and the resources: only those with a name of ours."""


def policy() -> dict[str, Any]:
    """An IAM policy document for `aws` users; cloudcmp calls nothing else.

    An account that never ran a spot machine lacks the role AWSServiceRoleForEC2Spot, which somebody with more rights
    must create once. A placement group of the user's own needs no further right. In the partitions of China and of the
    US government, replace `arn:aws`.
    """
    read = _allow("Look", [*READ_ACTIONS, *DATA_SET_LISTS], "*")
    machines = [*_create(), *_refer(), _tag(), *_change(), *_dry_run()]
    return {"Version": "2012-10-17", "Statement": [read, *machines, *_data_sets()]}


def actions() -> frozenset[str]:
    """Every action on machines that the policy allows."""
    return frozenset({*READ_ACTIONS, *CREATE_ACTIONS, *CHANGE_ACTIONS, "ec2:CreateTags"})


def data_actions() -> frozenset[str]:
    """Every action on storage services that the policy allows."""
    named = (f"{name.partition(' ')[0]}:{one}" for name, (some, _) in DATA_SET_ACTIONS.items() for one in some)
    return frozenset({*DATA_SET_LISTS, *named})


def _arn(kind: str, id: str = "*") -> str:
    return f"arn:aws:ec2:*::{kind}/{id}" if kind == "image" else f"arn:aws:ec2:*:*:{kind}/{id}"


def _allow(sid: str, action: Any, resource: Any, **condition: Any) -> dict[str, Any]:
    statement = {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": resource}
    return {**statement, "Condition": condition} if condition else statement


def _create() -> list[dict[str, Any]]:
    ours = {f"aws:RequestTag/{TAG}": TAG_VALUE}
    return [
        _allow(f"Make{_name(action)}", action, [_arn(kind) for kind in kinds], StringEquals=ours)
        for action, kinds in CREATE_ACTIONS.items()
    ]


def _refer() -> list[dict[str, Any]]:
    return [_allow(f"StandOn{_name(action)}", action, [_arn(kind) for kind in kinds]) for action, kinds in USES.items()]


def _tag() -> dict[str, Any]:
    kinds = sorted({kind for kinds in CREATE_ACTIONS.values() for kind in kinds})
    while_making = {"ec2:CreateAction": [_name(action) for action in CREATE_ACTIONS]}
    return _allow("TagWhileMaking", "ec2:CreateTags", [_arn(kind) for kind in kinds], StringEquals=while_making)


def _change() -> list[dict[str, Any]]:
    ours = {f"aws:ResourceTag/{TAG}": TAG_VALUE}
    kinds = sorted(set(CHANGE_ACTIONS.values()))
    return [
        _allow(
            f"Change{kind.title().replace('-', '')}",
            sorted(action for action, of in CHANGE_ACTIONS.items() if of == kind),
            _arn(kind),
            StringEquals=ours,
        )
        for kind in kinds
    ]


def _data_sets() -> list[dict[str, Any]]:
    return [
        _allow(
            f"Data{name.title().replace(' ', '')}", [f"{name.partition(' ')[0]}:{one}" for one in some], list(resources)
        )
        for name, (some, resources) in DATA_SET_ACTIONS.items()
    ]


def _dry_run() -> list[dict[str, Any]]:
    return [
        _allow("TryToTerminate", "ec2:TerminateInstances", _arn("instance", NONEXISTENT_INSTANCE)),
        _allow("TryToDelete", "ec2:DeleteSecurityGroup", _arn("security-group", NONEXISTENT_GROUP)),
    ]


def _name(action: str) -> str:
    return action.partition(":")[2]
