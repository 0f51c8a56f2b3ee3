"""For every test: signals as a terminal would give them, whoever started the tests."""

from tests.keyboard import heed


def pytest_configure() -> None:
    """Heed Ctrl-C from the beginning."""
    heed()
