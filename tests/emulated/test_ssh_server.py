"""The stand-in machine itself: served from a thread, and gone when told to."""

import asyncio
import subprocess
import sys

import pytest

from cloudcmp.agent.host import host_command, new_key, run_host_script
from cloudcmp.agent.ssh import dial
from cloudcmp.errors import ProviderFault
from cloudcmp.model.remote import Endpoint
from tests.emulated.ssh_server import machine_in_thread, ssh_machine

CLIENT, HOST = new_key(), new_key()


def test_a_machine_in_a_thread_serves_a_loop_of_another(tmp_path):
    async def visit(machine):
        shell = await dial(Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT), 5)
        said = await shell.run(["pwd"])
        await shell.rotate()
        await shell.close()
        return said.out.decode().strip()

    with machine_in_thread(tmp_path, host_key=HOST, client_public=CLIENT.public, address="127.0.0.9") as machine:
        assert asyncio.run(visit(machine)) == str(tmp_path)
        assert machine.address == "127.0.0.9"
        assert machine.host_key.public != HOST.public
        machine.kill()
        with pytest.raises(ProviderFault, match="SSH port is closed"):
            asyncio.run(visit(machine))


def test_root_does_the_few_things_that_it_does_on_a_real_machine(tmp_path):
    async def visit():
        async with ssh_machine(tmp_path, host_key=HOST, client_public=CLIENT.public) as machine:
            end = Endpoint(machine.address, machine.port, host_key=HOST.public, client=CLIENT)
            shell = await dial(end, 5)
            assert await run_host_script(shell, "disk", "/dev/vdb") == str(tmp_path / "mnt/cloudcmp")
            await run_host_script(shell, "ttl", "60")
            assert (tmp_path / ".machine/ttl").read_text() == "60\n"
            with pytest.raises(ProviderFault, match="cloudcmp-host dance: unknown word: dance"):
                await run_host_script(shell, "dance")
            with pytest.raises(ProviderFault, match="connection lost during die"):
                await shell.run(host_command("die"))
            await shell.close()
            with pytest.raises(ProviderFault, match="SSH port is closed"):
                await dial(end, 5)

    asyncio.run(visit())


@pytest.mark.parametrize("module", ["", ".ssh", ".deploy", ".host", ".cloud_config"])
def test_the_ssh_library_is_not_loaded_before_a_machine_is_dialled(module):
    code = f"import cloudcmp.agent{module}, sys; sys.exit('asyncssh' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
