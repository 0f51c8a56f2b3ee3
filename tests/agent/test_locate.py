import struct

import pytest

from cloudcmp.agent import locate
from cloudcmp.errors import AgentMissing

X86, ARM = "x86_64-unknown-linux", "aarch64-unknown-linux"
MACHINE = {X86: 62, ARM: 183}


def binary(path, triple, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + struct.pack("<HH", 2, MACHINE[triple]))
    path.chmod(mode)
    return path


def look(tmp_path, triple=X86, environ=None):
    return locate(
        triple,
        environ=environ or {},
        python=tmp_path / "venv/bin/python",
        scripts=tmp_path / "scripts",
        checkout=tmp_path / "checkout",
    )


PLACES = [
    "venv/bin/cloudcmp-agent",
    "scripts/cloudcmp-agent",
    "checkout/agent/target/dist/cloudcmp-agent",
    "checkout/agent/target/x86_64-unknown-linux-gnu/dist/cloudcmp-agent",
    "checkout/agent/target/x86_64-unknown-linux-musl/dist/cloudcmp-agent",
    "checkout/agent/target/release/cloudcmp-agent",
    "checkout/agent/target/x86_64-unknown-linux-gnu/release/cloudcmp-agent",
]


def test_the_first_place_that_has_one_is_taken(tmp_path):
    for place in reversed(PLACES):
        binary(tmp_path / place, X86)
        assert look(tmp_path) == tmp_path / place


def test_a_binary_for_another_machine_is_passed_over(tmp_path):
    binary(tmp_path / PLACES[0], ARM)
    right = binary(tmp_path / PLACES[5], X86)
    assert look(tmp_path) == right
    assert look(tmp_path, ARM) == tmp_path / PLACES[0]


def test_a_missing_agent_says_every_place_and_how_to_build(tmp_path):
    binary(tmp_path / PLACES[0], X86, mode=0o644)
    binary(tmp_path / PLACES[1], ARM)
    with pytest.raises(AgentMissing) as caught:
        look(tmp_path)
    message = str(caught.value)
    assert "\n" not in message
    assert f"{tmp_path / PLACES[0]} (not executable)" in message
    assert f"{tmp_path / PLACES[1]} (built for another machine)" in message
    assert all(f"{tmp_path / place} (not there)" in message for place in PLACES[2:])
    assert "make build" in message
    assert caught.value.exit_code == 3


def test_the_variable_comes_first_and_is_not_passed_over(tmp_path):
    binary(tmp_path / PLACES[0], X86)
    own = binary(tmp_path / "own", X86)
    assert look(tmp_path, environ={"CLOUDCMP_AGENT": str(own)}) == own
    with pytest.raises(AgentMissing, match=r"\$CLOUDCMP_AGENT=.*nowhere: not there; name an agent"):
        look(tmp_path, environ={"CLOUDCMP_AGENT": str(tmp_path / "nowhere")})
    with pytest.raises(AgentMissing, match=r"cannot be read|Is a directory"):
        look(tmp_path, environ={"CLOUDCMP_AGENT": str(tmp_path)})


def test_a_script_may_stand_in(tmp_path):
    script = tmp_path / "agent.py"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert look(tmp_path, environ={"CLOUDCMP_AGENT": str(script)}) == script


def test_an_unknown_triple_is_named(tmp_path):
    with pytest.raises(AgentMissing, match="there is none for riscv64-unknown-linux; it is built for aarch64"):
        look(tmp_path, "riscv64-unknown-linux")
