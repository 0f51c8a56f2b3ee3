"""What a study asks of EC2, in the smallest form, for tests of the driver and of the emulation."""

from typing import Any

from cloudcmp.provider.aws import Ec2Provider
from cloudcmp.provider.aws.sdk import Sdk
from tests.emulated.asks import ALLOW, STUDY, Asks, Clock, tags
from tests.emulated.ec2 import Ec2

__all__ = [
    "ALLOW",
    "REGION",
    "STUDY",
    "Clock",
    "candidate",
    "firewall",
    "groups_of",
    "instance",
    "launched",
    "provider",
    "request",
    "tags",
]

REGION = "us-east-1"
_ASKS = Asks("aws", REGION, "t3.micro", vcpus=2.0)
request, candidate, launched = _ASKS.request, _ASKS.candidate, _ASKS.launched
instance, firewall = _ASKS.instance, _ASKS.firewall


def provider(name: str = "aws", *, deadline_s: float = 20.0, **more: Any) -> Ec2Provider:
    """A driver that tries once and pauses hardly at all."""
    return Ec2Provider(name, sdk=Sdk(name, attempts=1, deadline_s=deadline_s), pause_s=0.01, **more)


def groups_of(cloud: Ec2) -> dict[str, Any]:
    """The security groups that there really are, by id."""
    return {id: group for of_vpc in cloud.account.ec2(REGION).groups.values() for id, group in of_vpc.items()}
