"""EC2: Amazon's own, and EC2-compatible clouds."""

from cloudcmp.provider.aws.barriers import AWS, COMPATIBLE
from cloudcmp.provider.aws.cloud import Ec2Provider
from cloudcmp.provider.aws.policy import policy

__all__ = ["AWS", "COMPATIBLE", "Ec2Provider", "policy"]
