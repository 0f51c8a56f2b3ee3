import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from cloudcmp.errors import AgentMissing, Refused
from cloudcmp.owned_folder import OwnedPath
from cloudcmp.provider.local import LocalProvider, Machine

FOUR = Machine((0, 2, 4, 6), None, 2**33, None)


def script(tmp_path, body, name="agent"):
    path = tmp_path / name
    path.write_text(f"#!{sys.executable} -IS\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def local(folder, agent=None):
    return LocalProvider(OwnedPath(folder), agent, "study-a", machine=lambda: FOUR)


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(condition, limit_s=5.0):
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


async def connected(provider, plans, offering="1cpu"):
    request = plans.request(f"token-{uuid.uuid4()}")  # by its token a process is found, also another test's
    cloud_id = await provider.create(request)
    candidate = plans.candidate()
    candidate = replace(candidate, offering=replace(candidate.offering, name=offering))
    return cloud_id, await provider.connect(plans.lease(request, cloud_id, "local"), candidate, plans.launch())


@pytest.mark.parametrize(
    ("offering", "cpus"), [("1cpu", (0,)), ("2cpu", (0, 2)), ("4cpu", (0, 2, 4, 6)), ("m9.large", (0, 2))]
)
def test_an_instance_type_is_a_set_of_processors(tmp_path, plans, offering, cpus):
    provider = local(tmp_path / "work", script(tmp_path, ""))
    _, instance = asyncio.run(connected(provider, plans, offering))
    assert tuple(instance.cpus) == cpus
    assert Path(instance.folder).is_dir()
    assert instance.address == "127.0.0.1"


def test_all_candidates_share_the_host(tmp_path, plans):
    provider = local(tmp_path)
    assert provider.host(plans.candidate()) == provider.host(plans.candidate({"x": None}))
    assert (provider.billed, provider.simulated) == (False, False)


def test_without_an_agent_connecting_says_so(tmp_path, plans):
    with pytest.raises(AgentMissing, match="make build"):
        asyncio.run(connected(local(tmp_path), plans))


@pytest.mark.parametrize("token", ["", "..", "a/b", "/etc", "a b", "a\n"])
def test_a_token_cannot_lead_out_of_the_folder(tmp_path, plans, token):
    provider = local(tmp_path)
    for act in (
        provider.create(plans.request(token)),
        provider.destroy(plans.handle(token)),
        provider.gone(plans.handle(token)),
    ):
        with pytest.raises(Refused):
            asyncio.run(act)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, plans):
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="choose another folder"):
        asyncio.run(local(tmp_path / "file").create(plans.request()))


def test_a_folder_whose_card_was_never_written_is_found_by_its_token(tmp_path, plans):
    provider = local(tmp_path)
    (tmp_path / "token-1").mkdir()
    (tmp_path / "token-2").mkdir()
    (tmp_path / "token-2" / "lease.json").write_text("{torn")
    for token in ("token-1", "token-2"):
        (found,) = asyncio.run(provider.find("study-a", token))
        assert (found.cloud_id, found.state) == (token, "incomplete")
    assert asyncio.run(provider.find("study-a")) == ()


def test_the_agent_gets_the_job_and_none_of_our_environment(tmp_path, plans, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    agent = script(tmp_path, "import os, sys\nprint(sys.stdin.readline(), os.getcwd(), dict(os.environ), sys.argv)")

    async def use():
        _, instance = await connected(local(tmp_path / "work", agent), plans)
        async with instance.start(b'{"job": 1}\n', plans.trial("fma"), 0) as channel:
            said = b"".join([piece async for piece in channel.stdout()]).decode()
            return said, instance.folder, await channel.last_words()

    said, folder, words = asyncio.run(use())
    assert '{"job": 1}' in said
    assert folder in said
    assert "canary" not in said
    assert words == "exit 0"


def test_input_stays_open_until_it_is_hung_up(tmp_path, plans):
    agent = script(tmp_path, "import sys\nprint('up', flush=True)\nsys.stdin.read()\nprint('down')")

    async def use():
        _, instance = await connected(local(tmp_path / "work", agent), plans)
        async with instance.start(b"job\n", plans.trial("fma"), 0) as channel:
            stream = channel.stdout()
            assert await anext(stream) == b"up\n"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await anext(stream)
            await channel.hang_up()
            assert await anext(stream) == b"down\n"
            with pytest.raises(StopAsyncIteration):
                await anext(stream)

    asyncio.run(use())


def test_a_flood_of_errors_neither_blocks_nor_grows(tmp_path, plans):
    body = "import sys\nfor _ in range(2000): sys.stderr.write('x' * 1000)\nprint('done')\nsys.exit(3)"

    async def use():
        _, instance = await connected(local(tmp_path / "work", script(tmp_path, body)), plans)
        async with instance.start(b"job\n", plans.trial("fma"), 0) as channel:
            assert [piece async for piece in channel.stdout()] == [b"done\n"]
            return await channel.last_words()

    words = asyncio.run(use())
    assert words.startswith("exit 3: xxx")
    assert len(words) < 5000


def test_an_agent_that_never_reads_a_large_job_does_not_block(tmp_path, plans):
    async def use():
        _, instance = await connected(local(tmp_path / "work", script(tmp_path, "print('deaf')")), plans)
        async with instance.start(b"x" * 2**20, plans.trial("fma"), 0) as channel:
            return [piece async for piece in channel.stdout()]

    assert asyncio.run(use()) == [b"deaf\n"]


FAMILY = (
    "import subprocess, time\nchild = subprocess.Popen(['sleep', '60'])\nprint(child.pid, flush=True)\ntime.sleep(60)"
)


def test_leaving_kills_the_agent_and_its_children(tmp_path, plans):
    async def use():
        _, instance = await connected(local(tmp_path / "work", script(tmp_path, FAMILY)), plans)
        async with instance.start(b"job\n", plans.trial("fma"), 0) as channel:
            return int(await anext(channel.stdout()))

    began = time.monotonic()
    child = asyncio.run(use())
    assert wait_until(lambda: not alive(child))
    assert time.monotonic() - began < 5


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    os.chdir('/')
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(60)
"""


def test_destroying_kills_what_got_away(tmp_path, plans):
    provider = local(tmp_path / "work", script(tmp_path, DAEMON))

    async def use():
        cloud_id, instance = await connected(provider, plans)
        (Path(instance.folder) / "data.bin").write_bytes(b"x" * 1000)
        async with instance.start(b"job\n", plans.trial("fma"), 0) as channel:
            daemon = int(await anext(channel.stdout()))
        assert alive(daemon)
        await provider.destroy(plans.handle(cloud_id))
        return cloud_id, daemon

    cloud_id, daemon = asyncio.run(use())
    assert wait_until(lambda: not alive(daemon))
    assert not (tmp_path / "work" / cloud_id).exists()


CONTROLLER = """
import asyncio, sys
from pathlib import Path
from cloudcmp.provider.local.process import Process

async def main():
    async with Process([sys.argv[1]], b"job\\n", Path(sys.argv[2]), {}) as channel:
        print((await anext(channel.stdout())).decode(), flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def test_p1_no_agent_outlives_a_killed_controller(tmp_path):
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not installed: only agents that read their input end with us")
    agent = script(tmp_path, "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)")
    controller = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(agent), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert controller.stdout
    with controller.stdout:
        pid = int(controller.stdout.readline())
        assert alive(pid)
        os.kill(controller.pid, signal.SIGKILL)
        controller.wait()
    assert wait_until(lambda: not alive(pid))


CLEAN_DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    body = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'
    os.execve(sys.executable, [sys.executable, '-ISc', body], {})
os.wait()
"""


def test_destroying_kills_also_what_dropped_its_marks_but_stayed(tmp_path, plans):
    provider = local(tmp_path / "work", script(tmp_path, CLEAN_DAEMON))

    async def use():
        cloud_id, instance = await connected(provider, plans)
        async with instance.start(b"job\n", plans.trial("fma"), 0) as channel:
            daemon = int(await anext(channel.stdout()))
        assert alive(daemon)
        await provider.destroy(plans.handle(cloud_id))
        return daemon

    daemon = asyncio.run(use())
    assert wait_until(lambda: not alive(daemon))


AT_A_TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(sys.argv[1])
    os.write(1, b'.')
    os.execvp('sleep', ['sleep', '60'])
os.read(terminal, 1)
print(pid, flush=True)
sys.stdin.read()
os.kill(pid, 9)
"""


def test_a_person_who_looks_into_the_folder_is_left_alone(tmp_path, plans):
    provider = local(tmp_path / "work", script(tmp_path, ""))
    cloud_id, instance = asyncio.run(connected(provider, plans))
    with subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, instance.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as helper:
        assert helper.stdout
        pid = int(helper.stdout.readline())
        asyncio.run(provider.destroy(plans.handle(cloud_id)))
        assert alive(pid)
        assert asyncio.run(provider.gone(plans.handle(cloud_id)))
        helper.communicate("")
