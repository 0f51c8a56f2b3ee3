"""The driver for Google Compute Engine."""

from cloudcmp.provider.gcp.cloud import GCP, GcpProvider
from cloudcmp.provider.gcp.policy import policy
