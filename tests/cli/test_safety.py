"""The verbs for whoever pays, typed as a user types them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cloudcmp.cli.entry import main
from cloudcmp.errors import IncompleteListing, NoCredentials
from cloudcmp.model.lease import Handle, Listing, TaggedResource
from cloudcmp.model.offering import Billing, Offering, Price
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import SAFEGUARDS, Finding, Safeguard
from cloudcmp.provider import registry

from .command import COMMAND, Said, cloudcmp
from .conftest import SMALL

PAST, FUTURE = "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


def found(cloud_id: str, study: str, expires: str, kind: str = "instance") -> TaggedResource:
    tags = (("cloudcmp:expires", expires), ("cloudcmp:schema", "1"), ("cloudcmp:study", study))
    return TaggedResource(cloud_id, f"cloudcmp-{study}", None, tags, "running", kind, "eu-west-1", "small")


class Cloud:
    """A cloud with three resources: one expired, one running, and the firewall of the first."""

    name = "cloud"
    simulated = False
    billed = True
    billing = Billing()
    parts = ("firewall", "instance")
    safeguards = tuple(Safeguard(one, True, f"by {one}") for one in SAFEGUARDS)
    unlisted: tuple[str, ...] = ()
    sticks = False
    locked = False

    def __init__(self) -> None:
        some = (found("f-1", "old", PAST, "firewall"), found("i-1", "old", PAST), found("i-2", "new", FUTURE))
        self.holds = {one.cloud_id: one for one in some}

    def offerings(self, region: str | None = None) -> tuple[Offering, ...]:
        return (Offering("cloud", "eu-west-1", "small", 1, 1, None, Price(Decimal("0.02"), "USD", "list")),)

    def host(self, candidate: Candidate) -> str:
        return candidate.id

    async def check(self, candidates: object) -> tuple[Finding, ...]:
        return (Finding("rights", not self.locked, "ec2:TerminateInstances", "attach the policy"),)

    async def leftovers(self) -> Listing:
        if self.locked:
            raise NoCredentials.at("cloud", "ExpiredToken", "log in again")
        if "all" in self.unlisted:
            raise IncompleteListing.at("cloud", "RequestLimitExceeded", "")
        return Listing(tuple(self.holds.values()), self.unlisted)

    async def destroy(self, handle: Handle) -> None:
        if not self.sticks:
            self.holds.pop(handle.cloud_id, None)

    async def gone(self, handle: Handle) -> str | None:
        return None if handle.cloud_id in self.holds else f"{handle.cloud_id} does not exist"


Types = Callable[..., Said]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cloud:
    made = Cloud()
    monkeypatch.setattr(registry, "_FACTORIES", {"cloud": lambda _: made})
    monkeypatch.setattr(registry, "_long_tail", tuple)
    monkeypatch.setattr("cloudcmp.app.sweep.patience_with", _quick)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return made


def _quick(_: Any) -> Any:
    from cloudcmp.provision import Patience

    return Patience(grace_s=0.0, poll_s=0.01, give_up_s=0.05, listings=1)


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Types:
    def typed(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["cloudcmp", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, told.out, told.err)

    return typed


def _alone() -> tuple[str, ...]:
    """What runs a command where no process but its own is seen; nothing where this system does not let us."""
    words = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")
    found = shutil.which("unshare") is not None
    return words if found and subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0 else ()


def test_p6_a_sweep_needs_nothing_of_this_machine(tmp_path: Path) -> None:
    # Neither the credentials of whoever tests nor, where it can be had so, the guests of other tests on this host.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "XDG_", "CLOUDCMP_"))}
    given = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    alone = _alone()
    said = subprocess.run(
        [*alone, COMMAND, "sweep"], cwd=tmp_path, env=kept | given, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    last = said.stdout.splitlines()[-1]
    assert last == "No resource with cloudcmp's tags was found where cloudcmp could look." or (
        not alone and last.startswith("DRY RUN: ")
    )
    for skipped in ("aws: skipped: ", "ec2: skipped: ", "local: not swept: ", "ssh: not swept: "):
        assert skipped in said.stdout
    # A library of OpenStack's remembers there which of its plugins are installed; nothing of ours is left or needed.
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} <= {tmp_path / ".cache/python-entrypoints"}


def test_a_sweep_is_dry_unless_it_is_told_otherwise(cloud: Cloud, types: Types) -> None:
    said = types("sweep")
    assert said.code == 0
    assert set(cloud.holds) == {"f-1", "i-1", "i-2"}
    assert "DRY RUN: 2 would be destroyed, 1 kept; add --delete to do it." in said.out
    assert said.out.splitlines()[0] == (
        "would go: cloud/eu-west-1 instance i-1: "
        "study old, expires 2020-01-01T00:00:00Z, running, 0.0200 USD/h: it has expired"
    )
    assert said.err == ""


def test_nothing_found_is_a_sentence(cloud: Cloud, types: Types) -> None:
    cloud.holds.clear()
    assert types("sweep").out == "No resource with cloudcmp's tags was found where cloudcmp could look.\n"


def test_delete_destroys_what_is_due_and_only_that(cloud: Cloud, types: Types) -> None:
    said = types("sweep", "cloud", "--delete")
    assert said.code == 0
    assert set(cloud.holds) == {"i-2"}
    assert "2 destroyed and confirmed gone, 0 left, 1 kept." in said.out
    again = types("sweep", "--study", "new", "--delete")
    assert again.code == 0
    assert cloud.holds == {}
    assert "No resource with cloudcmp's tags" in types("sweep").out


def test_p4_what_does_not_go_is_told_and_the_exit_code_says_so(cloud: Cloud, types: Types) -> None:
    cloud.sticks = True
    said = types("sweep", "--delete")
    assert said.code == 3
    assert "left: cloud/eu-west-1 instance i-1: study old, expires 2020-01-01T00:00:00Z, " in said.err
    assert said.err.count("left: ") == 2


@pytest.mark.parametrize("unlisted", [("eu-west-9: instances: UnauthorizedOperation",), ("all",)])
def test_p7_a_place_that_was_not_listed_is_named_with_exit_code_3(
    cloud: Cloud, types: Types, unlisted: tuple[str, ...]
) -> None:
    cloud.unlisted = unlisted
    for words in (("sweep",), ("sweep", "--json")):
        assert types(*words).code == 3
    said = types("sweep", "--delete")
    assert said.code == 3
    assert "not listed: cloud: " in said.err
    assert ("i-1" in cloud.holds) is (unlisted == ("all",))


def test_without_credentials_a_provider_is_skipped_unless_it_was_named(cloud: Cloud, types: Types) -> None:
    cloud.locked = True
    said = types("sweep")
    assert said.code == 0
    assert "cloud: skipped: " in said.out
    named = types("sweep", "cloud")
    assert named.code == 3
    assert "ExpiredToken" in named.err


def test_a_sweep_that_is_interrupted_before_it_begins_destroyed_nothing(
    cloud: Cloud, types: Types, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    def leave() -> None:
        sys.exit(130)

    monkeypatch.setattr("cloudcmp.app.provider_clients.open_clients", interrupted)
    monkeypatch.setattr("cloudcmp.cli.interruption.leave_now", leave)
    said = types("sweep", "--delete")
    assert said.code == 130
    assert "--resume" not in said.out + said.err
    assert "0 destroyed and confirmed gone, 0 left, 0 kept." in said.out
    assert "not listed: interrupted before any provider was queried" in said.err


def test_an_unknown_provider_is_a_mistake(cloud: Cloud, types: Types) -> None:
    said = types("sweep", "clout")
    assert said.code == 2
    assert "nearest: cloud" in said.err


def test_a_sweep_as_a_document(cloud: Cloud, types: Types) -> None:
    data = types("sweep", "--json").json["data"]
    assert data["dry_run"] is True
    assert [(one["id"], one["fate"]) for one in data["found"]] == [("i-1", "due"), ("i-2", "kept"), ("f-1", "due")]
    assert data["found"][0]["price"]["amount_per_hour"] == "0.02"


def test_check_answers_no_with_exit_code_1(cloud: Cloud, types: Types) -> None:
    said = types("check")
    assert said.code == 0
    assert "+ ok" in said.out
    cloud.locked = True
    said = types("check", "cloud")
    assert said.code == 1
    assert "! not ok" in said.out
    assert "attach the policy" in said.out
    data = types("check", "--json").json["data"]
    assert data["live"] is None
    assert {"provider": "cloud", "what": "rights", "ok": False, "text": "ec2:TerminateInstances",
            "next": "attach the policy"} in data["findings"]  # fmt: skip


def test_check_looks_at_a_study(tmp_path: Path) -> None:
    said = cloudcmp("check", SMALL.resolve(), cwd=tmp_path)
    assert said.code == 0, said.err
    assert "it can be run" in said.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "a.yaml", "cloud"), "a study is checked alone"),
        (("check", "nowhere.yaml"), "nowhere.yaml"),
        (("check", "cloud", "--live", "cloud"), "--live tests one provider"),
        (("check", "--budget", "1 USD"), "needs --live"),
        (("check", "--live", "cloud"), "--budget"),
        (("check", "--live", "cloud", "--budget", "1 USD"), "--allow"),
        (("check", "--allow", "203.0.113.7/32"), "needs --live"),
        (("check", "--live", "clout", "--budget", "1 USD"), "nearest: cloud"),
        (("check", "--live", "cloud", "--budget", "much"), "--budget"),
    ],
)
def test_a_mistyped_check_is_one_line_and_exit_code_2(
    cloud: Cloud, types: Types, words: tuple[str, ...], says: str
) -> None:
    said = types(*words)
    assert said.code == 2
    assert says in said.err
    assert said.err.count("\n") == 1


def test_a_try_out_above_its_budget_makes_nothing(cloud: Cloud, types: Types, tmp_path: Path) -> None:
    said = types("check", "--live", "cloud", "--budget", "0.05 USD", "--allow", "203.0.113.7/32")
    assert said.code == 3
    assert "the worst case is 0.0600 USD, above the budget of 0.0500 USD" in said.err
    assert list(tmp_path.iterdir()) == []


def test_the_contract_is_tried_out_and_nothing_stays(tmp_path: Path) -> None:
    said = cloudcmp("check", "--live", "simulated", cwd=tmp_path)
    assert said.code == 0, said.err
    assert "Nothing differs here." in said.out.splitlines()[-1]
    assert "not on a real account" in said.out
    assert list((tmp_path / "cloudcmp-studies").iterdir()) == []
    document = cloudcmp("check", "--live", "simulated", "--json", cwd=tmp_path).json
    clauses = {one["clause"]: one["holds"] for one in document["data"]["live"]["clauses"]}
    assert clauses["same token"] is True
    assert clauses["wrong host"] is None


def test_plan_tells_the_barriers_of_each_provider() -> None:
    said = cloudcmp("plan", SMALL)
    assert "Against leftovers" in said.out
    told = cloudcmp("plan", SMALL, "--json").json["data"]["barriers"]
    assert [one["name"] for one in told["simulated"]] == list(SAFEGUARDS)
    for one in told["simulated"]:
        assert one["how"]
        assert isinstance(one["holds"], bool)
    assert json.dumps(told)
