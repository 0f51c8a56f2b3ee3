"""Compute Engine, Google Cloud's machines."""

from cloudcmp.provider.gcp.barriers import GCP
from cloudcmp.provider.gcp.cloud import GcpProvider
from cloudcmp.provider.gcp.policy import policy

__all__ = ["GCP", "GcpProvider", "policy"]
