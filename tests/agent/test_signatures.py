"""Signatures of evidence, with stock OpenSSH as the second witness."""

import subprocess
from pathlib import Path

import pytest

from cloudcmp.agent.signatures import SigningKey, fingerprint, is_signed

KEY, OTHER = SigningKey(b"k" * 32), SigningKey(b"o" * 32)


def openssh_accepts(folder: Path, message: bytes, signature: bytes, *, namespace: str = "tests") -> bool:
    """True if ssh-keygen verifies a signature of `KEY`."""
    (folder / "signers").write_text(f"someone {KEY.public}\n", encoding="ascii")
    (folder / "sig").write_bytes(signature)
    command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "someone", "-n", namespace, "-s", "sig"]
    return subprocess.run(command, cwd=folder, input=message, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("message", [b"", b"head\n", b"\0\xff" * 5000])
def test_openssh_and_our_reader_accept_a_signature(message: bytes, tmp_path: Path) -> None:
    signature = KEY.sign(message, "tests")
    assert openssh_accepts(tmp_path, message, signature)
    assert is_signed(message, signature, KEY.public, "tests")


def test_both_refuse_another_message_namespace_and_signer(tmp_path: Path) -> None:
    signature = KEY.sign(b"head", "tests")
    assert not openssh_accepts(tmp_path, b"Head", signature)
    assert not is_signed(b"Head", signature, KEY.public, "tests")
    assert not openssh_accepts(tmp_path, b"head", signature, namespace="others")
    assert not is_signed(b"head", signature, KEY.public, "others")
    assert not openssh_accepts(tmp_path, b"head", OTHER.sign(b"head", "tests"))
    assert not is_signed(b"head", OTHER.sign(b"head", "tests"), KEY.public, "tests")


def test_a_signature_of_openssh_is_accepted(tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    made = subprocess.run(["ssh-keygen", "-Y", "sign", "-f", tmp_path / "key", "-n", "tests"], input=b"head",
                          capture_output=True, check=True)  # fmt: skip
    public = (tmp_path / "key.pub").read_text(encoding="ascii")
    assert is_signed(b"head", made.stdout, public, "tests")
    shown = subprocess.run(["ssh-keygen", "-l", "-f", tmp_path / "key.pub"], capture_output=True, text=True, check=True)
    assert fingerprint(public) == shown.stdout.split()[1]


def test_every_flipped_bit_of_a_signature_is_refused() -> None:
    signature = KEY.sign(b"head", "tests")
    for at in range(len(signature) * 8):
        changed = bytearray(signature)
        changed[at // 8] ^= 1 << at % 8
        assert not is_signed(b"head", bytes(changed), KEY.public, "tests"), at


@pytest.mark.parametrize("text", [b"", b"no signature", b"\xff", KEY.sign(b"x", "tests")[:100]])
def test_anything_else_is_no_signature(text: bytes) -> None:
    assert not is_signed(b"x", text, KEY.public, "tests")
    assert not is_signed(b"x", KEY.sign(b"x", "tests"), "no key", "tests")


def test_a_key_takes_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SigningKey(b"short")
    with pytest.raises(ValueError, match="key"):
        fingerprint("no key")
