"""Signs of a cloud's credentials on this machine, found without loading the cloud's library."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Signs:
    """Prefixes of variables, files under home, and `vendor`: a firmware file and its text on the cloud's machines."""

    variables: tuple[str, ...]
    files: tuple[str, ...]
    vendor: tuple[str, str] | None = None


# https://cloud.google.com/docs/authentication/application-default-credentials;
# https://cloud.google.com/compute/docs/instances/detect-compute-engine (R)
_GOOGLE = Signs(("GOOGLE_APPLICATION_", "GOOGLE_CLOUD_", "GCE_METADATA_", "CLOUDSDK_AUTH_", "CLOUDSDK_CONFIG",
                 "CLOUDCMP_GCP_"), (".config/gcloud/application_default_credentials.json",),
                ("product_name", "Google"))  # fmt: skip
SIGNS = {
    "gcp": _GOOGLE,
    "gcp-bigtable": replace(_GOOGLE, variables=(*_GOOGLE.variables, "BIGTABLE_EMULATOR_HOST")),
    "gcp-firestore": replace(_GOOGLE, variables=(*_GOOGLE.variables, "FIRESTORE_EMULATOR_HOST")),
    "gcp-pubsub": replace(_GOOGLE, variables=(*_GOOGLE.variables, "PUBSUB_EMULATOR_HOST")),
    "gcp-storage": replace(_GOOGLE, variables=(*_GOOGLE.variables, "STORAGE_EMULATOR_HOST")),
    # https://learn.microsoft.com/python/api/overview/azure/identity-readme; the tag of its machines (R)
    "azure": Signs(("AZURE_", "ARM_", "MSI_", "IDENTITY_", "CLOUDCMP_AZURE_"), (".azure",),
                   ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77")),
    # https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
    **dict.fromkeys(("openstack", "openstack-swift", "rackspace", "rackspace-swift"),
                    Signs(("OS_", "XDG_CONFIG"), (".config/openstack", "/etc/openstack", "/etc/xdg/openstack",
                                                  "./clouds.yaml", "./clouds.yml", "./clouds.json"))),
    "ec2": Signs(("AWS_ENDPOINT_URL",), ()),  # its endpoint must be in the environment
}  # fmt: skip
"""Clouds whose libraries need many seconds to find out that there are no credentials."""
_FIRMWARE = Path("/sys/class/dmi/id")


def signs_of(name: str, environ: Mapping[str, str], home: Path, firmware: Path = _FIRMWARE) -> bool:
    """True if a cloud's credentials may be here, or if only its library could tell."""
    signs = SIGNS.get(name)
    if signs is None or any(key.startswith(signs.variables) for key in environ):
        return True
    if any((Path(file) if file.startswith("./") else home / file).exists() for file in signs.files):
        return True
    if signs.vendor is None:
        return False
    file, firmware_text = signs.vendor
    try:
        return firmware_text in (firmware / file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
