import re
from pathlib import Path

from tests.agent.wrong_hosts import wrong_keys

SOURCE = Path(__file__).parents[2] / "src"
BLIND = re.compile(
    r"""known_hosts["']?\s*[:=]\s*None|AutoAdd|WarningPolicy|StrictHostKeyChecking["']?[=\s,]+["']?(no|off|accept-new)"""
)


def test_p23_no_wrong_host_key_is_let_in_and_it_learns_nothing():
    toll = wrong_keys(20, seed=23)
    assert toll.refused == toll.n == 20
    assert toll.logins == 0
    assert toll.input_bytes == 0


def test_p23_nothing_in_the_source_trusts_blindly():
    files = [path for path in SOURCE.rglob("*") if path.suffix in {".py", ".sh", ".yaml", ".toml", ".cfg"}]
    assert len(files) > 100
    assert not [str(path) for path in files if BLIND.search(path.read_text(errors="replace"))]


def test_p23_the_search_finds_what_it_looks_for():
    for text in (
        "connect(h, known_hosts=None)",
        '{"known_hosts": None}',
        "paramiko.AutoAddPolicy()",
        '"-o", "StrictHostKeyChecking=no"',
        "StrictHostKeyChecking accept-new",
    ):
        assert BLIND.search(text), text
