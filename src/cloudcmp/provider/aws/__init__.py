"""EC2 of Amazon and EC2-compatible clouds."""

from cloudcmp.provider.aws.cloud import Ec2Provider
from cloudcmp.provider.aws.policy import policy
from cloudcmp.provider.aws.safeguards import AWS, COMPATIBLE
