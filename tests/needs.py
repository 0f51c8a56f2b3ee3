"""What tests need of the host; where it is lacking they are skipped, and say why."""

import pytest

from tests.emulated.boot import why_not

CLOUD_SETTINGS = (
    "AWS_", "ARM_", "AZURE_", "CLOUDCMP_", "CLOUDSDK_", "GCE_", "GOOGLE_", "OS_", "SNAP_", "SSH_", "XDG_",
)  # fmt: skip
"""How the environment variables begin by which clouds and their SDKs are set; tests that ask every cloud clear them."""

needs_machines = pytest.mark.skipif(bool(why_not()), reason=why_not() or "machines can listen")
"""For tests in which machines listen on port 22 of loopback addresses of their own."""
