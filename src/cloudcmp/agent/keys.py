"""SSH keys: generation, and strict parsing."""

import base64
import binascii
import struct

from cloudcmp.model.remote import KeyPair

ED25519 = "ssh-ed25519"
_BLOB_BYTES = 4 + len(ED25519) + 4 + 32


def new_key() -> KeyPair:
    """A fresh ed25519 key without comment or passphrase, from the operating system's randomness."""
    import asyncssh

    key = asyncssh.generate_private_key(ED25519)
    return KeyPair(key.export_private_key("openssh").decode(), parse_public(key.export_public_key("openssh").decode()))


def parse_public(text: str) -> str:
    """The `ssh-ed25519 AAAA...` of a public key's one line; raises ValueError for anything else, a comment included.

    Does not check that the 32 bytes are a point of the curve: the key exchange does.
    """
    line = text.strip(" \r\n")
    kind, _, encoded = line.partition(" ")
    if not line.isascii() or kind != ED25519:
        raise ValueError(f"is not one line that begins with {ED25519}")
    try:
        blob = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise ValueError("is not base64") from error
    # Each key has exactly one spelling, so that equal texts mean equal keys.
    if base64.b64encode(blob).decode() != encoded:
        raise ValueError("is not base64 as it is written")
    if len(blob) != _BLOB_BYTES or not blob.startswith(struct.pack(">I", len(ED25519)) + ED25519.encode()):
        raise ValueError(f"does not hold an {ED25519} key")
    if blob[4 + len(ED25519) : 8 + len(ED25519)] != struct.pack(">I", 32):
        raise ValueError("does not hold a key of 32 bytes")
    return line
