"""Compute Engine, Google Cloud's machines."""

from cloudcmp.provider.gcp.cloud import GcpProvider
from cloudcmp.provider.gcp.policy import policy
from cloudcmp.provider.gcp.safeguards import GCP

__all__ = ["GCP", "GcpProvider", "policy"]
