"""The documents agree with the code and with each other."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.docs.pages import DOCS, PAGES, ROOT, Block, anchors, blocks, links, name_of, prose

from cloudcmp.agent.wire import parse_frame
from cloudcmp.app.plan import known_providers
from cloudcmp.cli.main import build
from cloudcmp.errors import UserMistake
from cloudcmp.provider.longtail import CLOUDS
from cloudcmp.provider.registry import names
from cloudcmp.stats.histogram import count, from_base64
from cloudcmp.study import read_text

ALL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
STUDIES = [block for page in PAGES for block in blocks(page) if block.info.split(" ")[0] == "yaml"]
HOSTS = {"doi.org", "arxiv.org", "github.com", "hdrhistogram.org", "www.rfc-editor.org", "datapackage.org"}
# Where providers publish their own rules.
HOSTS |= {"sparecores.com", "docs.rackspace.com", "keystone.api.dfw3.rackspacecloud.com"}
HOSTS |= {"aws.amazon.com", "cloud.google.com", "www.microsoft.com", "learn.microsoft.com", "docs.cloud.oracle.com"}
HOSTS |= {urlsplit(fact.source).netloc for cloud in CLOUDS.values() for fact in cloud.facts}
# A name for documents (RFC 2606).
HOSTS |= {"example.com"}
# The measured machine itself.
HOSTS |= {"localhost:8080", "127.0.0.1:9001", "127.0.0.1:9002"}
SHOWN_FOLDERS = ("/proc/", "/sys/", "/dev/", "/mnt/")
RECORD = ("Status", "Context", "Decision", "Consequences", "What would change our mind")


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


def test_every_verb_is_shown() -> None:
    verbs = [str(command.name) for command in build().registered_commands]
    assert len(verbs) >= 10
    written = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "commands.md")
    assert [verb for verb in verbs if not re.search(rf"\bcloudcmp {verb}\b", written)] == []


def test_every_verb_has_its_json_schema_described() -> None:
    page = DOCS / "reference" / "json.md"
    assert {str(command.name).replace(" ", "-") for command in build().registered_commands} <= anchors(page)


def test_every_provider_and_study_is_shown() -> None:
    studies = [path.name for path in sorted((ROOT / "studies").glob("*.yaml"))]
    assert [name for name in (*names(), *studies) if name not in ALL] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            assert link.split("/")[2] in HOSTS, link
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{name_of(page)}: {link}"
        assert not anchor or anchor in anchors(path), f"{name_of(page)}: no heading for {link}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_name_no_place_of_one_machine_and_no_host(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    paths = re.findall(r"(?<![\w.:/<>)*~-])/[a-z]+/[\w.-]*", text)
    assert [path for path in paths if not path.startswith(SHOWN_FOLDERS)] == []
    hosts = re.findall(r"https?://([^/\s)>`]+)", text)
    # What ends in example.org is nobody's (RFC 2606).
    assert {host for host in hosts if not host.partition(":")[0].endswith(".example.org")} <= HOSTS
    assert not re.search(r"\b(?:TODO|FIXME|XXX|TBD)\b", text)


OURS = [page for page in PAGES if page.parent.name != "reference" and not page.name.startswith("published-")]


@pytest.mark.parametrize("page", OURS, ids=name_of)
def test_lines_are_wrapped(page: Path) -> None:
    long = [line for line in prose(page).splitlines() if len(line) > 120 and not line.lstrip().startswith("|")]
    assert long == []


@pytest.mark.parametrize(
    "block", [block for block in STUDIES if block.info != "yaml fault"], ids=lambda block: block.place
)
def test_shown_studies_are_read(block: Block) -> None:
    study = read_text(block.text, block.info.partition(" ")[2] or "study.yaml", providers=known_providers())
    assert study.candidates
    assert study.probes


@pytest.mark.parametrize(
    "block", [block for block in STUDIES if block.info == "yaml fault"], ids=lambda block: block.place
)
def test_shown_faults_are_told_as_the_page_says(block: Block) -> None:
    with pytest.raises(UserMistake) as told:
        read_text(block.text, "study.yaml", providers=known_providers())
    following = next(other for other in blocks(block.page) if other.line > block.line)
    assert following.text == f"{told.value}\n"


def test_example_frames_are_frames() -> None:
    frames = [block for block in blocks(DOCS / "reference" / "wire.md") if block.info == "json"]
    kinds = []
    for block in frames:
        line = block.text.replace("\n", "").encode()
        frame = parse_frame(line, json.loads(line)["seq"])
        kinds.append(frame["type"])
        if "hist" in frame:
            assert count(from_base64(str(frame["hist"]))) > 0
    assert kinds == ["job", "hello", "ready", "note", "sample", "hist", "text", "error", "end"]


def test_example_documents_are_documents() -> None:
    found = [block for block in blocks(DOCS / "reference" / "json.md") if block.info == "json"]
    assert len(found) > 1
    for block in found:
        assert isinstance(json.loads(block.text), dict), block.place


def test_records_have_their_parts_and_numbers_without_a_gap() -> None:
    records = sorted((DOCS / "adr").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    assert len(records) >= 22
    for path in records:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {path.name[:4]} "), name_of(path)
        assert [part for part in RECORD if part not in text] == [], name_of(path)
