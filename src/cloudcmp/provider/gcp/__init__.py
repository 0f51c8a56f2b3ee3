"""Compute Engine, Google Cloud's machines."""

from cloudcmp.provider.gcp.cloud import GCP, GcpProvider
from cloudcmp.provider.gcp.policy import policy
