"""What a shell gets for a trial, told from the job that the agent is sent."""

import json

import pytest

from cloudcmp.agent.job import encode_job
from cloudcmp.app.command_uses import is_free, shell_lines
from cloudcmp.catalog import DEFAULT, TOOL, TOOLS, settings_text
from cloudcmp.catalog.lookup import tool_settings
from cloudcmp.errors import UserMistake
from cloudcmp.execute.commands import check_command, command_job
from cloudcmp.model.command import Command, ShippedFile
from cloudcmp.model.metric import ParamKind
from cloudcmp.model.plan import PlannedTrial

PAIR_NO_LINES = {"bulk_s", "packet_bytes", "packets", "rate_bytes_per_s", "spacing_s"}
LINES = ("run", "setup", "warmup", "check")
NO_LINES = {"command", "program", "packages", "install", "image", "threads", "limit_s", "setup_limit_s"}


def planned(probe, **params):
    return PlannedTrial(0, 0, probe, tuple(params.items()), (), 0, 0.0, 1.0, 20.0, 1)


def tool(name, install="no", **params):
    settings = settings_text(name, tool_settings(name, params))
    return command_job(planned(TOOL, tool=name, settings=settings, install=install), ())


def sent(work):
    """The parameters that reach the agent."""
    return json.loads(encode_job(work.trial, cpus=(0,), folder="/x"))["params"]


def test_every_line_that_the_agent_is_sent_is_told():
    command = Command("mine", **{kind: f"echo {kind}\nagain" for kind in LINES})
    work = command_job(planned("command", command="mine"), [command])
    told = {line.kind: line.text for line in shell_lines(work)}
    assert told == {key: value for key, value in sent(work).items() if key not in NO_LINES}
    assert [line.kind for line in shell_lines(work)] == ["setup", "warmup", "run", "check"]
    assert is_free(work)


def test_an_image_is_told_with_what_runs_in_it():
    work = command_job(
        planned("command", command="mine"), [Command("mine", "x", image=ShippedFile("i.tar", "0" * 64, 1))]
    )
    assert [line.kind for line in shell_lines(work)] == ["image", "run"]


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_tools_line_is_told_and_is_free_once_the_study_chose_a_text_of_it(name):
    work = tool(name)
    told = {line.kind: line.text for line in shell_lines(work)}
    assert told.pop("run") == sent(work)["run"]
    assert told.pop("program", "") in {"", f"command -v {sent(work)['program']}"}
    assert told.pop("serve", "") == sent(work).get("serve", "")
    assert told == {}
    assert set(sent(work)) <= NO_LINES | {"run"} | (PAIR_NO_LINES | {"serve"} if TOOLS[name].pair else set())
    assert not is_free(work)
    assert is_free(tool(name, install="yes"))
    for param in TOOLS[name].params:
        if param.kind is ParamKind.TEXT:
            assert is_free(tool(name, **{param.name: "/tmp/evil"}))


def test_how_a_missing_tool_is_installed_is_told():
    (line,) = [line for line in shell_lines(tool("fio", "yes")) if line.kind == "install"]
    assert "apt-get -qy --no-install-recommends install fio | dnf -qy install fio | apk add fio" in line.text
    assert "as root or by sudo -n" in line.text


@pytest.mark.parametrize(
    "trial",
    [
        planned("command", command="other"),
        planned("command"),
        planned(TOOL, tool="no-such", settings=DEFAULT, install="no"),
        planned(TOOL, tool="fio", settings="rw:erase", install="no"),
        planned(TOOL),
    ],
)
def test_a_trial_that_no_command_or_tool_is_known_for_is_a_mistake(trial):
    with pytest.raises(UserMistake):
        command_job(trial, [Command("mine", "x")])


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/hostname", "link"])
def test_a_planned_file_that_leads_out_of_the_folder_is_not_taken(tmp_path, name):
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / "x").write_text("x")
    (own / "a").mkdir()
    (own / "link").symlink_to("../x")
    with pytest.raises(UserMistake, match="leads out of the study's folder"):
        check_command(Command("mine", "x", files=(ShippedFile(name, "0" * 64, 1),), folder=str(own)))


def test_a_command_whose_name_leads_elsewhere_is_not_taken(tmp_path):
    for name in ("../up", "", "a/b", ".."):
        with pytest.raises(UserMistake, match="cannot name a folder"):
            check_command(Command(name, "x", folder=str(tmp_path)))
