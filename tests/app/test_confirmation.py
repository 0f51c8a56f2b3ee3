"""Commands on machines of the user's own are run once this user has said so, and only those that were shown."""

import stat
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloudcmp.app import plan as planning
from cloudcmp.app import study_view as viewing
from cloudcmp.app.command_uses import commands, notice, on_own_machines
from cloudcmp.app.confirmation import (
    ConfirmedDigests,
    confirm_commands,
    confirmed_folder,
    digest_of,
    refuse,
)
from cloudcmp.app.report import write_page
from cloudcmp.cli.entry import main
from cloudcmp.errors import UserMistake
from cloudcmp.model.command import CommandUse, ShellLine, ShippedFile
from cloudcmp.report import documents
from cloudcmp.store import StudyStore
from cloudcmp.store.seals import SEALED_COLUMNS
from tests.cli.command import Said
from tests.forged import database_of, own_seals

HEAD = """schema: 1
question: "What does my own program cost?"
candidates: [{provider: %s, region: %s, offering: %s, price: 0.05 USD/h}]
launches: 1
runs: 1
probes:
"""
LOCAL = HEAD % ("local", "local", "1cpu")
MINE = "  - command: {name: mine, run: '%s', expected: 1 s}\n"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A user who has confirmed nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "cloudcmp" / "confirmed"


@pytest.fixture
def cloudcmp(tmp_path, monkeypatch, capsys):
    """The command, typed in this process where nobody is at a terminal."""
    monkeypatch.chdir(tmp_path)

    def types(*words):
        monkeypatch.setattr(sys, "argv", ["cloudcmp", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(ended.value.code, *capsys.readouterr())

    return types


def planned(folder, text, **how):
    (folder / "own.yaml").write_text(text)
    return planning.plan_file(folder / "own.yaml", **({"on": None, "short": False, "seed": 1} | how))[0]


class Asked:
    """Answers as it is told to, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer, self.requests, self.notes = answer, [], []

    def __call__(self, request):
        self.requests.append(request)
        return self.answer

    def confirms(self, plan):
        confirm_commands(plan, "own.yaml", self, self.notes.append)


def test_the_same_lines_are_asked_for_once(tmp_path, state):
    plan, user = planned(tmp_path, LOCAL + MINE % "true"), Asked(True)
    user.confirms(plan)
    user.confirms(planned(tmp_path, LOCAL + MINE % "true", seed=2))
    assert [request.where for request in user.requests] == ["on this machine, as you"]
    assert user.requests[0].uses[0].lines == (ShellLine("run", "true"),)
    assert user.notes == ["this study runs commands on this machine, as you: mine"] * 2
    user.confirms(planned(tmp_path, LOCAL + MINE % "true "))
    assert len(user.requests) == 2, "another line is asked for again"
    assert stat.S_IMODE(state.stat().st_mode) == stat.S_IMODE(state.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in state.iterdir()} == {0o600}


def test_what_is_not_confirmed_is_refused_and_asked_for_again(tmp_path, state):
    plan, user = planned(tmp_path, LOCAL + MINE % "true"), Asked(False)
    for _ in range(2):
        with pytest.raises(UserMistake, match=r"own\.yaml: its commands were not confirmed.*cloudcmp plan own\.yaml"):
            user.confirms(plan)
    assert len(user.requests) == 2
    assert user.notes == []
    assert not state.exists()


@pytest.mark.parametrize("spoil", ["file", "unwritable", "link", "open", "unset"])
def test_without_a_folder_of_ones_own_it_is_asked_each_time(tmp_path, state, monkeypatch, spoil):
    plan, user = planned(tmp_path, LOCAL + MINE % "true"), Asked(True)
    state.parent.mkdir(parents=True)
    if spoil == "file":
        state.write_text("")
    elif spoil == "unwritable":
        state.parent.rmdir()
        state.parent.symlink_to("/proc/self/nowhere")
    elif spoil == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        state.symlink_to(tmp_path / "elsewhere")
    elif spoil == "open":
        state.mkdir()
        state.chmod(0o770)
    else:
        monkeypatch.setattr("cloudcmp.app.confirmation.Path.home", no_home)
        monkeypatch.setenv("XDG_STATE_HOME", "relative")
    user.confirms(plan)
    user.confirms(plan)
    assert len(user.requests) == 2


def no_home():
    raise RuntimeError("no home")


def test_a_digest_that_was_laid_down_as_a_link_is_not_confirmed(state):
    kept = ConfirmedDigests(state)
    kept.add("a" * 64)
    assert kept.holds("a" * 64)
    (state / ("b" * 64)).symlink_to(state / ("a" * 64))
    assert not kept.holds("b" * 64)


def test_the_default_folder_is_the_users_state(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    assert confirmed_folder() == tmp_path / ".local" / "state" / "cloudcmp" / "confirmed"


TOOL = "  - {tool: openssl-speed, params: {duration_s: 1}}\n"


@pytest.mark.parametrize(
    ("head", "entries", "on", "asked"),
    [
        (LOCAL, "  - {probe: fma}\n", None, None),
        (LOCAL, MINE % "true", "simulated", None),
        (HEAD % ("simulated", "nimbus", "small"), MINE % "true", None, None),
        (HEAD % ("simulated", "nimbus", "small"), MINE % "true", "local", "on this machine, as you"),
        ("budget: 1 USD\n" + HEAD % ("aws", "us-east-1", "t3.micro"), MINE % "true", None, None),
        (HEAD % ("ssh", "ssh", "box"), MINE % "true", None, "on box"),
        (LOCAL, TOOL, None, None),
        (LOCAL, TOOL.replace("}}", "}, install: true}"), None, "on this machine, as you"),
        (LOCAL, "  - {tool: npb, params: {path: reboot}}\n", None, "on this machine, as you"),
        (LOCAL, "  - {tool: wrk, params: {url: -s/tmp/x.lua}}\n", None, "on this machine, as you"),
    ],
)
def test_only_text_of_the_study_on_the_users_own_machines_is_asked_for(tmp_path, head, entries, on, asked):
    user = Asked(True)
    user.confirms(planned(tmp_path, head + entries, on=on))
    assert [request.where for request in user.requests] == ([asked] if asked else [])


def test_own_machines_are_named_with_whom_the_lines_run_as(tmp_path):
    plan = planned(tmp_path, LOCAL.replace("}]", "}, {provider: ssh, offering: box, price: 1 USD/h}]") + MINE % "x")
    assert on_own_machines(plan)[1] == ("local", "ssh box")
    assert notice(plan) == "this study runs commands on this machine, as you, and on box: mine"


USES = st.lists(
    st.builds(
        CommandUse,
        st.text(max_size=5),
        st.lists(st.builds(ShellLine, st.sampled_from(["setup", "run", "check"]), st.text(max_size=8))).map(tuple),
        st.lists(st.builds(ShippedFile, st.text(max_size=5), st.text(max_size=5), st.integers(0, 9))).map(tuple),
        st.just(()),
        st.booleans(),
    ),
    max_size=3,
)


def meaning(uses, machines):
    """What a confirmation is of: no order of commands, files or machines, and not whom it runs on under which id."""
    return sorted(repr((one.name, one.lines, sorted(one.files, key=repr))) for one in uses), sorted(machines)


@given(USES, USES, st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_digests_are_the_same_just_where_everything_is(a, b, here, there):
    same = meaning(a, here) == meaning(b, there)
    assert (digest_of(a, here) == digest_of(b, there)) == same


@given(USES.filter(bool), st.data())
def test_any_change_to_any_line_or_file_changes_the_digest(uses, data):
    number = data.draw(st.integers(0, len(uses) - 1))
    use, letter = uses[number], data.draw(st.characters())
    changed = [replace(use, name=use.name + letter), replace(use, lines=(*use.lines, ShellLine("run", letter)))]
    for at, line in enumerate(use.lines):
        place = data.draw(st.integers(0, len(line.text)))
        for other in (
            ShellLine(line.kind, line.text[:place] + letter + line.text[place:]),
            ShellLine(f"{line.kind}{letter}", line.text),
        ):
            changed.append(replace(use, lines=(*use.lines[:at], other, *use.lines[at + 1 :])))
    for at, file in enumerate(use.files):
        for field, value in (("path", file.path + letter), ("sha256", file.sha256 + letter), ("size_bytes", 10)):
            other = replace(file, **{field: value})
            changed.append(replace(use, files=(*use.files[:at], other, *use.files[at + 1 :])))
    before = digest_of(uses, ["local"])
    for other in changed:
        assert digest_of([*uses[:number], other, *uses[number + 1 :]], ["local"]) != before
    assert digest_of(uses, ["local", "ssh box"]) != before


def strange(folder, *, ran="touch PWNED"):
    """A study's folder whose text is innocent and whose plan is not."""
    plan = planned(folder, LOCAL + MINE % "true")
    plan = replace(plan, commands=(replace(plan.commands[0], setup=f"cd {folder}; {ran}"),))
    StudyStore.create(folder / "out", plan, study_text=LOCAL + MINE % "true", provenance={}, created_at=0.0).close()
    return plan


def test_a_strange_folder_runs_none_of_its_commands_unasked(cloudcmp, tmp_path):
    strange(tmp_path)
    said = cloudcmp("run", "--resume", "out")
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert "out: it runs commands on this machine, as you, and there is no terminal to confirm them" in said.err
    assert "look at them with 'cloudcmp plan out', then add --yes" in said.err
    assert not (tmp_path / "PWNED").exists()
    looked = cloudcmp("plan", "out").out
    assert f"setup    cd {tmp_path}"[:40] in looked
    assert "touch PWNED" in "".join(line.strip() for line in looked.splitlines())
    told = cloudcmp("run", "--resume", "out", "--json")
    assert told.code == 2
    assert "add --yes" in told.json["errors"][0]["next"]
    said = cloudcmp("run", "--resume", "out", "--yes")
    assert said.code == 0, said.err
    assert "touch PWNED" in "".join(line.strip() for line in said.err.splitlines()), "it is shown before it is run"
    assert (tmp_path / "PWNED").exists()


def test_attempts_at_trials_that_are_not_there_confirm_no_command(cloudcmp, tmp_path):
    """As many attempts as trials, of others: nothing is left to be run, as it seems."""
    plan = strange(tmp_path)
    with database_of(tmp_path / "out") as connection:
        for trial in range(len(plan.trials)):
            row = (-1 - trial, 0, "failed", 1.0, 2.0, "x", 0, 0, None, "{}", None, None)
            values = (*row, own_seals(tmp_path / "out").make("attempt", *row))
            places = ",".join("?" * len(values))
            connection.execute(f"INSERT INTO attempt ({SEALED_COLUMNS['attempt']}, seal) VALUES ({places})", values)
    for adopt in ([], ["--adopt"]):
        assert cloudcmp("run", "--resume", "out", *adopt).code in {2, 3}
        assert not (tmp_path / "PWNED").exists()


def test_the_report_and_compare_tell_what_ran_whatever_the_studys_text_says(cloudcmp, tmp_path):
    strange(tmp_path, ran="touch NEVER\u202e")
    view = viewing.view(tmp_path / "out")
    assert "NEVER" in documents.comparison(view)["commands"][0]["lines"][0].text
    report = write_page(view, tmp_path / "report.html").read_text()
    assert "touch NEVER&lt;U+202E&gt;" in report
    assert "touch NEVER<U+202E>" in "".join(line.strip() for line in cloudcmp("compare", "out").out.splitlines())


def test_a_plan_whose_commands_are_not_there_is_shown_as_such_and_not_run(tmp_path):
    plan = planned(tmp_path, LOCAL + MINE % "true")
    (use,) = commands(replace(plan, commands=()))
    assert (use.name, use.lines[0].kind, use.free) == ("mine", "unknown", True)
    assert commands(replace(plan, imported=True)) == ()


def test_a_hidden_line_is_in_every_form_of_the_plan(cloudcmp, tmp_path):
    hidden = "touch HIDDEN\\e[2K"
    entry = f'  - command: {{name: mine, run: "true", setup: "{hidden}", warmup: "w1", check: "c1 \\u202e"}}\n'
    (tmp_path / "own.yaml").write_text(LOCAL + entry)
    shown = cloudcmp("plan", "own.yaml").out
    assert "touch HIDDEN<U+001B>[2K" in shown
    assert "c1 <U+202E>" in shown
    assert "warmup   w1" in shown
    told = cloudcmp("plan", "own.yaml", "--json")
    lines = {line["kind"]: line["text"] for line in told.json["data"]["commands"][0]["lines"]}
    assert lines == {"setup": "touch HIDDEN\x1b[2K", "warmup": "w1", "run": "true", "check": "c1 \u202e"}
    assert "\x1b" not in shown + told.out
    refused = cloudcmp("run", "own.yaml", "--out", "out")
    assert refused.code == 2
    assert not (tmp_path / "out").exists()


def test_files_that_are_carried_are_shown(cloudcmp, tmp_path):
    (tmp_path / "data").write_text("of the user\n")
    (tmp_path / "own.yaml").write_text(LOCAL + "  - command: {name: mine, run: x, files: [data]}\n")
    (file,) = cloudcmp("plan", "own.yaml", "--json").json["data"]["commands"][0]["files"]
    assert (file["path"], file["size_bytes"], len(file["sha256"])) == ("data", 12, 64)
    assert "data, 12 B, SHA-256" in cloudcmp("plan", "own.yaml").out


def test_nothing_is_confirmed_by_default(tmp_path):
    plan = planned(tmp_path, LOCAL + MINE % "true")
    with pytest.raises(UserMistake):
        confirm_commands(plan, "own.yaml", refuse, print)
    assert [one.name for one in commands(plan)] == ["mine"]
