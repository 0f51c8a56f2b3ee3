"""The script `cloudcmp-host`, with the few root actions on a machine that cloudcmp launched; and its SSH keys."""

import base64
import binascii
import struct
from collections.abc import Sequence
from importlib import resources

from cloudcmp.errors import ProviderFault
from cloudcmp.model.remote import KeyPair, Shell
from cloudcmp.model.untrusted_text import one_line

SCRIPT = "/usr/local/sbin/cloudcmp-host"

# Without sudo, the user is root or the script does not need it.
_CALL = f'if command -v sudo >/dev/null 2>&1; then exec sudo -n {SCRIPT} "$@"; else exec cloudcmp-host "$@"; fi'


def script() -> str:
    """The text of `cloudcmp-host`, a POSIX shell script."""
    return resources.files("cloudcmp.agent").joinpath("cloudcmp-host.sh").read_text(encoding="utf-8")


def host_command(*words: str) -> Sequence[str]:
    """The command that runs `cloudcmp-host` with these words as root."""
    return ("sh", "-c", _CALL, "cloudcmp", *words)


async def run_host_script(shell: Shell, *words: str, deadline_s: float = 60.0) -> str:
    """Runs `cloudcmp-host` with these words; returns its output, stripped and untrusted; raises ProviderFault.

    The words are `rotate`, `disk DEVICE` (prints the mount point) and `ttl SECONDS`. `die` never answers: run it with
    `shell.run(host_command("die"))` and expect the connection to be lost.
    """
    output = await shell.run(host_command(*words), deadline_s=deadline_s, most_bytes=4096)
    if output.exit_code != 0:
        why = one_line(output.err.decode("utf-8", errors="replace")) or f"exit {output.exit_code}"
        raise ProviderFault.at(f"cloudcmp-host {words[0]}", why, "see the machine's console, or launch another one")
    return output.out.decode("utf-8", errors="replace").strip()


ED25519 = "ssh-ed25519"
_BLOB_BYTES = 4 + len(ED25519) + 4 + 32


def new_key() -> KeyPair:
    """A fresh ed25519 key without comment or passphrase, from the operating system's randomness."""
    import asyncssh

    key = asyncssh.generate_private_key(ED25519)
    return KeyPair(key.export_private_key("openssh").decode(), parse_public(key.export_public_key("openssh").decode()))


def parse_public(text: str) -> str:
    """The `ssh-ed25519 AAAA...` of a public key's one line; raises ValueError for anything else, including a comment.

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
