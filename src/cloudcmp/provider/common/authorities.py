"""Certificate authorities that are trusted besides the system's, by the clients of clouds and by the agent."""

import os
import ssl
import tempfile
from pathlib import Path

from cloudcmp.errors import UserMistake

VARIABLE = "CLOUDCMP_CA"
"""Names the PEM file for this process and those that it starts; the option --ca sets it."""
_BUNDLES = ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "OS_CACERT")
"""Variables in which the clients of AWS, of Azure and Google, of gRPC and of OpenStack find all that they trust."""
_MOST_BYTES = 1 << 20
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def trust(file: Path) -> None:
    """Has the clients in this process trust the authorities of a PEM file besides the system's.

    The variables that the clients read are set for this process. Raises UserMistake if the file has no certificate.
    """
    own = _read(file)
    folder = tempfile.TemporaryDirectory(prefix="cloudcmp-ca-")
    _KEPT.append(folder)  # it lives as long as the process
    bundle = Path(folder.name) / "bundle.pem"
    bundle.write_text(f"{_of_system()}\n{own}", encoding="ascii")
    os.environ.update(dict.fromkeys(_BUNDLES, str(bundle)) | {VARIABLE: str(file.resolve())})


def trusted() -> str:
    """The PEM text of the authorities that are trusted besides the system's; empty if there are none."""
    named = os.environ.get(VARIABLE)
    return _read(Path(named)) if named else ""


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES + 1).decode("ascii")
        if len(text) > _MOST_BYTES:
            raise UserMistake.at(str(file), "it is larger than 1 MiB", "name a PEM file of certificates")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:  # ssl's errors are OSErrors
        what = f"it cannot be read as certificates ({type(error).__name__})"
        raise UserMistake.at(str(file), what, "name a PEM file of certificates") from None
    if not context.cert_store_stats()["x509_ca"]:
        raise UserMistake.at(str(file), "it has no certificate of an authority", "name a PEM file of certificates")
    return text


def _of_system() -> str:
    """The PEM text of the authorities that this system trusts."""
    found = ssl.create_default_context().get_ca_certs(binary_form=True)
    return "".join(map(ssl.DER_cert_to_PEM_cert, found))
