"""The host key that a machine is given stands in its user data, which others may read: it holds for one login.

The machines are SSH servers behind an emulated EC2.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.emulated.boot import SshServer, ssh_boot
from tests.emulated.ec2 import ec2
from tests.emulated.ec2_requests import candidate, provider
from tests.emulated.pointed import pointed
from tests.needs import needs_machines
from tests.provision.contracts import stage

from cloudcmp.agent.ssh import dial
from cloudcmp.errors import WrongHost
from cloudcmp.provision.contract import CLAUSES, run_contract
from cloudcmp.provision.contract_run import Clause, ContractRun


@needs_machines
def test_p23_the_host_key_of_the_user_data_opens_nothing_once_a_machine_is_reached(tmp_path: Path) -> None:
    booted: list[SshServer] = []
    boot = ssh_boot(tmp_path)

    def remembered(user_data: str, id: str) -> SshServer:
        booted.append(boot(user_data, id))  # type: ignore[arg-type]
        return booted[-1]

    async def replaced(on: ContractRun) -> None:
        request, _ = on.require_machine()
        assert request.access
        assert on.machine
        assert on.machine.endpoint
        given, now = request.access.host.public, on.machine.endpoint
        (machine,) = booted
        assert machine.host_public == given
        assert machine.server.host_key.public != given
        assert now.host_key.split()[:2] == machine.server.host_key.public.split()[:2]
        with pytest.raises(WrongHost):
            await dial(replace(now, host_key=given), 10.0)
        await (await dial(now, 10.0)).close()

    with pointed(ec2(boot=remembered)):
        at = stage(provider(), candidate())
        needed = [one for one in CLAUSES if one.name in {"create", "reached"}]
        asked = Clause("replaced", "its host key is replaced at the first login", replaced)
        held = asyncio.run(run_contract(at, [*needed, asked]))
        assert [(one.clause, one.holds, one.why) for one in held.rulings] == [
            (one.name, True, "") for one in (*needed, asked)
        ]
        assert held.left == ()
