"""What tests need of the host; where it is lacking they are skipped, and say why."""

import pytest

from tests.emulated.boot import why_not

needs_machines = pytest.mark.skipif(bool(why_not()), reason=why_not() or "machines can listen")
"""For tests in which machines listen on port 22 of loopback addresses of their own."""
