"""Behind each emulated instance a machine that answers: reached at the address that EC2 tells, known by its key."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from tests.emulated.boot import ssh_boot
from tests.emulated.ec2 import Faults, ec2
from tests.emulated.ec2_requests import REGION, instance, provider, request
from tests.emulated.pointed import pointed
from tests.needs import needs_machines
from tests.slices import long

from cloudcmp.agent.cloud_config import cloud_config
from cloudcmp.agent.host import new_key
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import WrongHost
from cloudcmp.model.remote import Access, Endpoint

pytestmark = needs_machines


def test_p23_the_address_leads_to_the_machine_whose_key_was_given(tmp_path):
    host, client, other = new_key(), new_key(), new_key()
    access = Access(host, client.public, cloud_config(host, client.public, 600.0))

    async def walk(cloud):
        driver = provider()
        id = await driver.create(request(access=access))
        while (sight := await driver.look(instance(id))).state == "pending":
            await asyncio.sleep(0.05)
        assert (sight.state, sight.port) == ("running", 22)
        shell = await dial(Endpoint(sight.address, sight.port, host_key=host.public, client=client), 10.0)
        said = await shell.run(["pwd"])
        await shell.close()
        assert said.out.decode().strip().endswith(id)
        with pytest.raises(WrongHost):
            await dial(Endpoint(sight.address, sight.port, host_key=other.public, client=client), 10.0)
        await driver.destroy(instance(id))
        assert not cloud.state.lives.all[id].machine.alive()
        return id

    with pointed(ec2(Faults(), boot=ssh_boot(tmp_path))) as cloud:
        asyncio.run(walk(cloud))
        assert cloud.alive() == []


@long
def test_it_runs_in_the_foreground_for_other_processes(tmp_path):
    """What a human or a crash walk starts; it ends by Ctrl-C and says what is left."""
    command = [sys.executable, "-m", "tests.emulated.ec2", "--machines", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        environ = dict(server.stdout.readline().strip().removeprefix("export ").split("=", 1) for _ in range(8))
        code = (
            "import asyncio\nfrom tests.emulated.ec2_requests import *\n"
            "print(asyncio.run(provider().create(request(access=None))))\n"
        )
        variables = {**os.environ, **environ}
        made = subprocess.run(
            [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=60, check=True
        )
        assert made.stdout.startswith("i-")
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=20)
    assert f"# {REGION} ec2:RunInstances 200" in said
    assert f"# left: instance {REGION} {made.stdout.strip()}" in said
