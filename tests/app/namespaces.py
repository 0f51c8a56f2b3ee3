"""Whether the tests may make network namespaces here."""

import subprocess

import pytest

from cloudcmp.errors import CloudcmpError
from cloudcmp.provider.netns import cloud, network


def _missing() -> str:
    if missing := cloud.missing_rights():
        return missing
    try:
        network.run("unshare", "--net", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        network.try_shaper("htb", 1e6)
    except (CloudcmpError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


needs_namespaces = pytest.mark.skipif(bool(why := _missing()), reason=why or "it does")
