"""The places of regions: city or area, country, part of the world and position, by their providers' names.

Sources: https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html,
https://cloud.google.com/compute/docs/regions-zones, https://learn.microsoft.com/azure/reliability/regions-list (all R:
written from memory). An unlisted region is shown by its own name alone. Positions are those of the city or of the
middle of the area, to a tenth of a degree (11 km); where in it the data centres are is not public.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a region by its provider's name, and the part of the world.

    `country` is a code of ISO 3166; `at` is the latitude and longitude in degrees.
    """

    name: str
    part: str
    country: str
    at: tuple[float, float]


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
                "asia-northeast2": "Osaka", "asia-northeast3": "Seoul", "asia-south1": "Mumbai", "asia-south2": "Delhi",
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

_AT: dict[str, tuple[str, float, float]] = {
    "Northern Virginia": ("US", 39.0, -77.5), "Virginia": ("US", 36.7, -78.4), "Ohio": ("US", 40.1, -82.8),
    "Columbus": ("US", 40.0, -83.0), "Northern California": ("US", 37.4, -122.1), "California": ("US", 37.8, -122.4),
    "Oregon": ("US", 45.7, -120.5), "Washington": ("US", 47.2, -119.9), "Iowa": ("US", 41.4, -94.7),
    "South Carolina": ("US", 33.1, -80.0), "Dallas": ("US", 32.8, -96.8), "Texas": ("US", 29.4, -98.5),
    "Los Angeles": ("US", 34.1, -118.2), "Salt Lake City": ("US", 40.8, -111.9), "Las Vegas": ("US", 36.2, -115.1),
    "Illinois": ("US", 41.9, -87.6), "Arizona": ("US", 33.4, -112.1), "Wyoming": ("US", 41.1, -104.8),
    "Montreal": ("CA", 45.5, -73.6), "Calgary": ("CA", 51.0, -114.1), "Toronto": ("CA", 43.7, -79.4),
    "Quebec City": ("CA", 46.8, -71.2),
    "Ireland": ("IE", 53.3, -6.3), "London": ("GB", 51.5, -0.1), "Paris": ("FR", 48.9, 2.4),
    "Frankfurt": ("DE", 50.1, 8.7), "Zurich": ("CH", 47.4, 8.5), "Stockholm": ("SE", 59.3, 18.1),
    "Milan": ("IT", 45.5, 9.2), "Spain": ("ES", 41.6, -0.9), "Madrid": ("ES", 40.4, -3.7),
    "Belgium": ("BE", 50.5, 3.9), "Netherlands": ("NL", 52.6, 4.9), "Finland": ("FI", 60.6, 27.2),
    "Warsaw": ("PL", 52.2, 21.0), "Gävle": ("SE", 60.7, 17.1), "Norway": ("NO", 59.9, 10.8),
    "Tokyo": ("JP", 35.7, 139.7), "Osaka": ("JP", 34.7, 135.5), "Seoul": ("KR", 37.6, 127.0),
    "Singapore": ("SG", 1.3, 103.8), "Jakarta": ("ID", -6.2, 106.8), "Mumbai": ("IN", 19.1, 72.9),
    "Hyderabad": ("IN", 17.4, 78.5), "Pune": ("IN", 18.5, 73.9), "Delhi": ("IN", 28.6, 77.2),
    "Chennai": ("IN", 13.1, 80.3),
    "Hong Kong": ("HK", 22.3, 114.2), "Taiwan": ("TW", 24.1, 120.4),
    "Sydney": ("AU", -33.9, 151.2), "New South Wales": ("AU", -33.9, 151.2), "Melbourne": ("AU", -37.8, 145.0),
    "Victoria": ("AU", -37.8, 145.0),
    "São Paulo": ("BR", -23.5, -46.6), "Santiago": ("CL", -33.5, -70.7),
    "Cape Town": ("ZA", -33.9, 18.4), "Johannesburg": ("ZA", -26.2, 28.0), "Bahrain": ("BH", 26.0, 50.5),
    "United Arab Emirates": ("AE", 24.8, 55.0), "Dubai": ("AE", 25.3, 55.3), "Tel Aviv": ("IL", 32.1, 34.8),
    "Doha": ("QA", 25.3, 51.5),
}  # fmt: skip

PLACES: dict[tuple[str, str], Place] = {
    (provider, region): Place(name, part, _AT[name][0], _AT[name][1:])
    for part, providers in _PARTS.items()
    for provider, regions in providers.items()
    for region, name in regions.items()
}


def place_of(provider: str, region: str) -> Place | None:
    """The place of a provider's region; None if unknown."""
    return PLACES.get((provider, region))


_EARTH_KM = 6371.0


def distance_km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """The great-circle distance (km) of two positions, each latitude and longitude in degrees.

    On a sphere of the earth's mean radius, which is off by at most 0.6 %. It is not a latency: cables make detours.
    Source: the haversine formula.
    """
    (lat_a, lon_a), (lat_b, lon_b) = ((math.radians(one) for one in at) for at in (a, b))
    half = math.sin((lat_b - lat_a) / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * _EARTH_KM * math.asin(min(1.0, math.sqrt(half)))
