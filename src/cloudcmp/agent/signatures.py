"""Signatures that stock OpenSSH verifies: `ssh-keygen -Y verify`, in the form of its file PROTOCOL.sshsig."""

import base64
import textwrap
from hashlib import sha512

import asyncssh

SEED_BYTES = 32
_MAGIC = b"SSHSIG"
_VERSION = (1).to_bytes(4, "big")
_HASH = b"sha512"
_ALGORITHM = b"ssh-ed25519"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
# A private key of RFC 8410 (PKCS 8) up to its 32 bytes.
_PRIVATE = bytes.fromhex("302e020100300506032b657004220420")


class SigningKey:
    """An Ed25519 key that signs messages for a namespace, which says what a signature is for."""

    def __init__(self, seed: bytes) -> None:
        """Makes the key of 32 secret bytes (RFC 8032, section 5.1.5); raises ValueError for another number."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a key is made of {SEED_BYTES} bytes, not {len(seed)}")
        pem = base64.encodebytes(_PRIVATE + seed).decode()
        self._key = asyncssh.import_private_key(f"-----BEGIN PRIVATE KEY-----\n{pem}-----END PRIVATE KEY-----\n")

    @property
    def public(self) -> str:
        """The public key as OpenSSH writes it: its kind and its bytes, without a comment."""
        return " ".join(self._key.export_public_key().decode().split()[:2])

    def sign(self, message: bytes, namespace: str) -> bytes:
        """The armoured signature of a message."""
        signature = self._key.sign(_signed(message, namespace.encode()), _ALGORITHM)
        parts = (self._key.public_data, namespace.encode(), b"", _HASH, signature)
        return _armoured(_MAGIC + _VERSION + b"".join(map(_string, parts)))


def is_signed(message: bytes, signature: bytes, public: str, namespace: str) -> bool:
    """True if an armoured signature of a message is of the public key and the namespace; False for anything else."""
    try:
        key = asyncssh.import_public_key(public)
        data, space, signed = _parts(signature)
        fits = data == key.public_data and space == namespace.encode()
        return fits and key.verify(_signed(message, space), signed)
    except (ValueError, asyncssh.KeyImportError):
        return False


def fingerprint(public: str) -> str:
    """The fingerprint of a public key, as `ssh-keygen -l` shows it; raises ValueError for text that is no key."""
    try:
        return asyncssh.import_public_key(public).get_fingerprint()
    except asyncssh.KeyImportError as error:
        raise ValueError(str(error)) from error


def _signed(message: bytes, namespace: bytes) -> bytes:
    return _MAGIC + b"".join(map(_string, (namespace, b"", _HASH, sha512(message).digest())))


def _armoured(blob: bytes) -> bytes:
    lines = textwrap.wrap(base64.b64encode(blob).decode(), 70)
    return "\n".join([_BEGIN, *lines, _END, ""]).encode()


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _parts(armoured: bytes) -> tuple[bytes, bytes, bytes]:
    """The public key, the namespace and the signature in an armoured signature; raises ValueError."""
    lines = armoured.decode("ascii").splitlines()
    if len(lines) < 3 or (lines[0], lines[-1]) != (_BEGIN, _END):
        raise ValueError("no signature of OpenSSH")
    blob = base64.b64decode("".join(lines[1:-1]), validate=True)
    head = _MAGIC + _VERSION
    if not blob.startswith(head) or _armoured(blob) != armoured:  # base64 has other forms of the same bytes
        raise ValueError("another form of signature")
    rest, parts = blob[len(head) :], []
    while rest:
        size = int.from_bytes(rest[:4], "big")
        if len(rest) < 4 + size or len(rest) < 4:
            raise ValueError("a signature that is cut short")
        parts.append(rest[4 : 4 + size])
        rest = rest[4 + size :]
    if len(parts) != 5 or parts[2:4] != [b"", _HASH]:
        raise ValueError("another form of signature")
    return parts[0], parts[1], parts[4]
