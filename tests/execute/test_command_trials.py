"""A command's trial on a machine at the end of an SSH connection: its files are there, and its figures are read."""

import asyncio

import pytest
from tests.emulated.ssh_server import ssh_machine

from cloudcmp.agent import Decoder, expected_series, locate
from cloudcmp.agent.deploy import deploy
from cloudcmp.agent.host import new_key
from cloudcmp.agent.job import encode_job
from cloudcmp.agent.ssh import dial
from cloudcmp.catalog import METRICS, TOOL
from cloudcmp.errors import AgentMissing, UserMistake
from cloudcmp.execute.commands import command_job, parse_result, upload_files
from cloudcmp.model.command import Command, CommandMetric, ShippedFile
from cloudcmp.model.metric import Better
from cloudcmp.model.plan import PlannedTrial
from cloudcmp.model.remote import Endpoint
from cloudcmp.model.trial import Outcome, Sample, TrialResult
from cloudcmp.stats import histogram
from cloudcmp.study.commands import _measured

CLIENT, HOST = new_key(), new_key()
TOLD = CommandMetric("said_s", "s", Better.LOWER, r"said (\d+)")
CELLS = ("command_time_s command=mine", "said_s command=mine")


def trial(probe="command", params=(("command", "mine"),), cells=CELLS):
    return PlannedTrial(0, 0, probe, params, cells, 0, 0.0, 1.0, 20.0, 1)


def command(folder, *names):
    files = tuple(_measured(folder, folder.__class__(name)) for name in names)
    return Command("mine", "sh $CLOUDCMP_FILES/deep/mine", told=(TOLD,), files=files, folder=str(folder))


def result(texts, value=0.5, facts="{}"):
    samples = (Sample(0, "command_time_s", "command=mine", value, value, None),)
    return TrialResult(Outcome.OK, samples, "", facts), texts


def read(work, planned, given):
    return asyncio.run(parse_result(work, planned, *given))


def test_files_and_command_over_ssh(tmp_path):
    try:
        locate("x86_64-unknown-linux")
    except AgentMissing as missing:
        pytest.skip(str(missing))
    own = tmp_path / "study"
    (own / "deep").mkdir(parents=True)
    (own / "deep" / "mine").write_text('cat "$CLOUDCMP_FILES/data 1"\n')
    (own / "data 1").write_text("said 42\n")
    planned, work = trial(), command_job(trial(), [command(own, "deep/mine", "data 1")])

    async def visit():
        async with ssh_machine(tmp_path / "far", host_key=HOST, client_public=CLIENT.public) as machine:
            shell = await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), 10)
            instance, there = await deploy(shell), set()
            await upload_files(work, instance, there)
            decoder = Decoder(expected_series(work.cells, METRICS), 20.0, histogram.from_base64, prints=True)
            job = encode_job(work.trial, cpus=instance.cpus, folder=instance.folder)
            async with instance.start(job, planned, 0) as channel:
                async for piece in channel.stdout():
                    decoder.feed(piece)
            await shell.close()
            return await parse_result(work, planned, decoder.result(), decoder.texts), there

    (tmp_path / "far").mkdir()
    found, there = asyncio.run(visit())
    assert (found.outcome, found.why) == (Outcome.OK, "")
    assert [(one.metric, one.value) for one in found.samples][1:] == [("said_s", 42.0)]
    assert dict(found.texts) == {"stdout": "said 42\n"}
    assert there == {"files/mine/deep/mine", "files/mine/data 1"}


def test_a_file_that_was_changed_is_not_brought(tmp_path):
    (tmp_path / "data").write_text("x")
    own = command(tmp_path, "data")
    assert own.files == (ShippedFile("data", own.files[0].sha256, 1),)
    (tmp_path / "data").write_text("y")

    class Machine:
        cpus, address, folder = (0,), "127.0.0.1", "/nowhere"

        def start(self, *_):
            raise AssertionError

        async def upload(self, files):
            raise AssertionError(files)

    with pytest.raises(UserMistake, match="changed since the study was planned"):
        asyncio.run(upload_files(command_job(trial(), [own]), Machine(), set()))


def test_a_cell_that_no_text_tells_makes_the_trial_invalid(tmp_path):
    work = command_job(trial(), [command(tmp_path)])
    good = read(work, trial(), result({"stdout": "said 7\n"}))
    assert (good.outcome, [one.value for one in good.samples]) == (Outcome.OK, [0.5, 7.0])
    for texts, facts, says in [
        ({}, "{}", "is found nowhere"),
        ({"stdout": "said 7\n"}, '{"notes":{"stdout_cut":true}}', "was cut"),
        ({"stdout": "said 7\n"}, '{"notes":{"stdout_not_utf8":true}}', "not UTF-8"),
    ]:
        bad = read(work, trial(), result(texts, facts=facts))
        assert (bad.outcome, bad.samples) == (Outcome.INVALID, ())
        assert says in bad.why
    other = read(work, trial(cells=CELLS[:1]), result({"stdout": "said 7\n"}))
    assert (other.outcome, other.why) == (Outcome.INVALID, "said_s command=mine was not what the trial measures")


def test_a_tool_is_asked_for_by_its_packages_and_doubted_by_its_reader():
    params = (("install", "yes"), ("settings", "default"), (TOOL, "fio"))
    planned = trial(TOOL, params, ("tool_op_per_s measure=read_iops;settings=default;tool=fio",))
    work = command_job(planned, ())
    asked = dict(work.trial.params)
    assert (work.trial.probe, asked["program"], asked["install"]) == ("command", "fio", "yes")
    assert asked["packages"] == "apt-get=fio dnf=fio apk=fio"
    assert asked["run"].startswith("fio ")
    given = TrialResult(Outcome.OK, (Sample(0, "command_time_s", "command=fio", 1.0, 1.0, None),))
    bad = read(work, planned, (given, {"stdout": "{"}))
    assert (bad.outcome, bad.samples) == (Outcome.INVALID, ())
    assert bad.why
