"""`paas` as a command, against handlers on this machine."""

import json
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cloudcmp.agent.locate import locate
from tests.execute.local_platforms import TOKEN, Plan, Quiet, aws_lambda, cloud_run, serving

from .command import cloudcmp

ONE_ROUND = ("--rounds", "1")


def test_two_platforms_are_measured_in_turn_and_the_table_is_imported(tmp_path: Path) -> None:
    with cloud_run(Plan(start_s=0.2), tmp_path) as run, aws_lambda(Plan(), tmp_path) as function:
        said = cloudcmp(
            "paas", f"run={run.url}", f"fn={function.url}", *ONE_ROUND, "--bill", "run=cloud-run,memory=512MiB",
            "--bill", "fn=lambda", "--out", "p.csv", cwd=tmp_path, CLOUDCMP_SERVE_TOKEN=TOKEN,
        )  # fmt: skip
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "2 platforms, 12 requests, 12 answered"
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("/cpu         ") and "cannot tell which is first" in line for line in lines)
    assert any(line.startswith("COLD START   run: ") for line in lines)
    assert any(line.startswith("fn        cpu     lambda ") and " USD" in line for line in lines)
    imported = cloudcmp("import", "p.csv", "--out", "study", cwd=tmp_path)
    assert (imported.code, imported.out.splitlines()[0].split(";")[0]) == (0, "18 values")


def test_the_document_has_every_request_and_names_each_key(tmp_path: Path) -> None:
    from tests.docs.test_json import NAMED, _keys

    with cloud_run(Plan(limit_bytes=1_500_000, most=2), tmp_path) as run:
        said = cloudcmp(
            "paas", run.url, *ONE_ROUND, "--cold-starts", "1", "--idle", "0.05 s", "--load", "1", "--load-time", "1 s",
            "--limits", "--longest", "0.1 s", "--most-memory", "16 MiB", "--most-body", "2 MB", "--token", TOKEN,
            "--bill", f"{run.url.removeprefix('http://')}=app-engine", "--json", cwd=tmp_path,
        )  # fmt: skip
    assert (said.code, said.err) == (0, "")
    data = said.json["data"]
    assert said.json["schema"] == "cloudcmp.paas/1"
    assert set(_keys(data)) - NAMED == set()
    assert {one["stage"] for one in data["requests"]} == {"first", "rounds", "idle", "load"}
    limits = {one["kind"]: one for one in data["limits"]}
    assert (limits["time"]["worked"], limits["time"]["failed"]) == (0.1, None)
    assert limits["answer"]["worked"] <= 1_500_000 <= limits["answer"]["failed"]
    assert {one["money"]["currency"] for one in data["costs"] if one["money"]} == {"USD"}
    failed = [one for one in data["pages"] if one["page"] == "2mb"]
    assert [(one["ok"], one["started"], one["response"]) for one in failed] == [(0, 1, None)]


class Stranger(Quiet):
    """Something else than our handler."""

    def do_GET(self) -> None:  # noqa: N802
        """Answer anything."""
        self.answer(200, {}, b"hello")


def test_what_is_no_handler_of_ours_is_one_line(tmp_path: Path) -> None:
    with serving(Stranger) as address:
        said = cloudcmp("paas", f"http://{address}", cwd=tmp_path)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(f"http://{address}: something answers, and it is not our handler; ")
    gone = cloudcmp("paas", f"http://{address}", cwd=tmp_path)
    assert (gone.code, gone.err.splitlines()[-1].split("; ")[0]) == (3, f"http://{address}: no answer: refused")


@contextmanager
def handler(folder: Path, *flags: str) -> Iterator[str]:
    """A handler as on a machine, which ends with its stdin; gives its address."""
    words = [str(locate()), "serve", "--dir", str(folder), *flags]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["addr"]
        assert process.stdin is not None
        process.stdin.close()
        assert json.loads(process.stdout.read())["why"] == "stdin"


def test_a_handler_over_tls_is_trusted_by_its_authority_alone(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    with handler(tmp_path, "--cert", files[0], "--key", files[1]) as address:
        url = f"https://localhost:{address.rpartition(':')[2]}"
        strange = cloudcmp("paas", url, *ONE_ROUND, cwd=tmp_path)
        known = cloudcmp("paas", url, *ONE_ROUND, "--ca", files[0], "--json", cwd=tmp_path)
    assert (strange.code, "untrusted certificate" in strange.err) == (3, True)
    assert known.code == 0, known.err
    assert all(one["ok"] == 1 for one in known.json["data"]["pages"])


def certificate(folder: Path) -> tuple[str, str]:
    """A certificate for localhost that is its own authority, and its key, as PEM files."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = built.public_bytes(serialization.Encoding.PEM).decode("ascii")
    ssl.create_default_context(cadata=pem)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "cert.pem").write_text(pem, encoding="ascii")
    (folder / "key.pem").write_bytes(key.private_bytes(*form))
    return str(folder / "cert.pem"), str(folder / "key.pem")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "cloudcmp paas: missing argument"),
        (["handler.example.org"], "handler.example.org: it is no URL of HTTP"),
        (["a=http://h/1", "a=http://h/2"], "a: two platforms have this name"),
        (["a b=http://h"], "a b=http://h: 'a b' is no name of a platform"),
        (["http://h", "--rounds", "0"], "--rounds: 0 is not between 1 and 1000"),
        (["http://h", "--load", "501"], "--load: 501 is not between 0 and 500"),
        (["http://h", "--idle", "soon"], "--idle: 'soon' is not a number with its unit"),
        (["http://h", "--longest", "0 s"], "--longest: '0 s' is not more than zero"),
        (["a=http://h", "--bill", "b=lambda"], "--bill: 'b' is none of the platforms"),
        (["a=http://h", "--bill", "a=lamda"], "--bill: there is no rule 'lamda'"),
        (["http://h", "--ca", "none.pem"], "none.pem: it cannot be read as certificates"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, words: list[str], told: str) -> None:
    said = cloudcmp("paas", *words, cwd=tmp_path)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(told), said.err
    assert "Traceback" not in said.err


def test_a_token_and_the_search_for_limits_must_be_the_handlers(tmp_path: Path) -> None:
    with cloud_run(Plan(), tmp_path) as run:
        said = cloudcmp("paas", run.url, "--token", "wrong", cwd=tmp_path)
    assert said.code == 2
    assert "the handler wants a token; set CLOUDCMP_SERVE_TOKEN" in said.err
    with handler(tmp_path) as address:
        said = cloudcmp("paas", f"http://{address}", *ONE_ROUND, "--limits", cwd=tmp_path)
    assert said.code == 2
    assert "its handler finds no limits; start it with --limits" in said.err
