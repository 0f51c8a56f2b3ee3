"""The places of regions: city or area and part of the world, by their providers' names.

Sources: https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html,
https://cloud.google.com/compute/docs/regions-zones, https://learn.microsoft.com/azure/reliability/regions-list (all R:
written from memory). An unlisted region is shown by its own name alone.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a region by its provider's name, and the part of the world."""

    name: str
    part: str


_PARTS = {
    "US": {
        "aws": {"us-east-1": "Northern Virginia", "us-east-2": "Ohio", "us-west-1": "Northern California",
                "us-west-2": "Oregon"},
        "gcp": {"us-central1": "Iowa", "us-east1": "South Carolina", "us-east4": "Northern Virginia",
                "us-east5": "Columbus", "us-south1": "Dallas", "us-west1": "Oregon", "us-west2": "Los Angeles",
                "us-west3": "Salt Lake City", "us-west4": "Las Vegas"},
        "azure": {"eastus": "Virginia", "eastus2": "Virginia", "centralus": "Iowa", "northcentralus": "Illinois",
                  "southcentralus": "Texas", "westus": "California", "westus2": "Washington", "westus3": "Arizona",
                  "westcentralus": "Wyoming"},
    },
    "Canada": {
        "aws": {"ca-central-1": "Montreal", "ca-west-1": "Calgary"},
        "gcp": {"northamerica-northeast1": "Montreal", "northamerica-northeast2": "Toronto"},
        "azure": {"canadacentral": "Toronto", "canadaeast": "Quebec City"},
    },
    "Europe": {
        "aws": {"eu-west-1": "Ireland", "eu-west-2": "London", "eu-west-3": "Paris", "eu-central-1": "Frankfurt",
                "eu-central-2": "Zurich", "eu-north-1": "Stockholm", "eu-south-1": "Milan", "eu-south-2": "Spain"},
        "gcp": {"europe-west1": "Belgium", "europe-west2": "London", "europe-west3": "Frankfurt",
                "europe-west4": "Netherlands", "europe-west6": "Zurich", "europe-west8": "Milan",
                "europe-west9": "Paris", "europe-north1": "Finland", "europe-southwest1": "Madrid",
                "europe-central2": "Warsaw"},
        "azure": {"northeurope": "Ireland", "westeurope": "Netherlands", "uksouth": "London",
                  "francecentral": "Paris", "germanywestcentral": "Frankfurt", "swedencentral": "Gävle",
                  "switzerlandnorth": "Zurich", "norwayeast": "Norway", "polandcentral": "Warsaw",
                  "italynorth": "Milan", "spaincentral": "Madrid"},
    },
    "Asia": {
        "aws": {"ap-northeast-1": "Tokyo", "ap-northeast-2": "Seoul", "ap-northeast-3": "Osaka",
                "ap-southeast-1": "Singapore", "ap-southeast-3": "Jakarta", "ap-south-1": "Mumbai",
                "ap-south-2": "Hyderabad", "ap-east-1": "Hong Kong"},
        "gcp": {"asia-east1": "Taiwan", "asia-east2": "Hong Kong", "asia-northeast1": "Tokyo",
                "asia-northeast2": "Osaka", "asia-northeast3": "Seoul", "asia-south1": "Mumbai",
                "asia-southeast1": "Singapore", "asia-southeast2": "Jakarta"},
        "azure": {"eastasia": "Hong Kong", "southeastasia": "Singapore", "japaneast": "Tokyo",
                  "japanwest": "Osaka", "koreacentral": "Seoul", "centralindia": "Pune", "southindia": "Chennai"},
    },
    "Australia": {
        "aws": {"ap-southeast-2": "Sydney", "ap-southeast-4": "Melbourne"},
        "gcp": {"australia-southeast1": "Sydney", "australia-southeast2": "Melbourne"},
        "azure": {"australiaeast": "New South Wales", "australiasoutheast": "Victoria"},
    },
    "South America": {
        "aws": {"sa-east-1": "São Paulo"},
        "gcp": {"southamerica-east1": "São Paulo", "southamerica-west1": "Santiago"},
        "azure": {"brazilsouth": "São Paulo"},
    },
    "Africa and Middle East": {
        "aws": {"af-south-1": "Cape Town", "me-south-1": "Bahrain", "me-central-1": "United Arab Emirates",
                "il-central-1": "Tel Aviv"},
        "gcp": {"africa-south1": "Johannesburg", "me-west1": "Tel Aviv", "me-central1": "Doha"},
        "azure": {"southafricanorth": "Johannesburg", "uaenorth": "Dubai", "qatarcentral": "Doha"},
    },
}  # fmt: skip

PLACES: dict[tuple[str, str], Place] = {
    (provider, region): Place(name, part)
    for part, providers in _PARTS.items()
    for provider, regions in providers.items()
    for region, name in regions.items()
}


def place_of(provider: str, region: str) -> Place | None:
    """The place of a provider's region; None if unknown."""
    return PLACES.get((provider, region))
