"""Which providers' price lists can be fetched, and by which command."""

from cloudcmp.model.cast import Service

FETCHED = ("aws", "azure", "gcp")
"""Providers whose price lists can be fetched; lists of others are given as files."""


def fetch_command(service: Service) -> str:
    """Returns the command that fetches a service's prices."""
    if service.provider in FETCHED:
        return f"cloudcmp fetch {service.provider} --region {service.region}"
    return "write prices: into the study, or name a list: cloudcmp fetch --from FILE --as csv"
