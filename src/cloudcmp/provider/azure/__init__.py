"""The driver for Azure."""

from cloudcmp.provider.azure.cloud import AzureProvider
from cloudcmp.provider.azure.policy import policy
