"""What several threads import at once is imported once, whole, and by one of them at a time."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.slices import spread

from cloudcmp.provider.registry import names

_TWO = """
import importlib, sys, threading, time
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from cloudcmp.provider.common.sdk_imports import import_modules
sys.path.insert(0, {folder!r})
class Slow(SourceFileLoader):  # it takes time to be made: meanwhile the package is nowhere, and its lock is held
    def create_module(self, spec):
        time.sleep(0.6)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "slow":
            path = {folder!r} + "/slow/__init__.py"
            return spec_from_file_location(name, path, loader=Slow(name, path))
sys.meta_path.insert(0, Finder())
way, failed = {way}, []
def first(name, after_s):
    time.sleep(after_s)
    try:
        way(name)
    except BaseException as error:
        failed.append(type(error).__name__)
threads = [threading.Thread(target=first, args=one) for one in (("slow", 0.0), ("slow.inner", 0.2))]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(failed)
"""
_HELD = """
import sys, threading
from cloudcmp.provider import registry
from cloudcmp.provider.common.sdk_imports import IMPORT_LOCK
def loaded():
    return {{name for name in sys.modules if name.startswith("cloudcmp.provider.")}}
before = loaded()
with IMPORT_LOCK:
    thread = threading.Thread(target=registry.make, args=({name!r},))
    thread.start()
    thread.join(0.3)
    waits = thread.is_alive() and loaded() == before
thread.join()
print(waits, loaded() > before)
"""


def said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def two_threads(folder: Path, way: str) -> str:
    """What failed when a package is imported that imports its module, and the module by another thread meanwhile."""
    (folder / "slow").mkdir()
    (folder / "slow" / "__init__.py").write_text("from slow import inner\n")
    (folder / "slow" / "inner.py").write_text("")
    return said(_TWO.format(folder=str(folder), way=way))


def test_two_threads_load_one_package(tmp_path: Path) -> None:
    assert two_threads(tmp_path, "import_modules") == "[]"


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="later versions of Python may have mended it")
def test_without_it_they_trip_over_each_other(tmp_path: Path) -> None:
    assert two_threads(tmp_path, "importlib.import_module") == "['_DeadlockError']"


@pytest.mark.parametrize("name", spread(names(), 5))
def test_a_provider_is_imported_by_one_thread_at_a_time(name: str) -> None:
    assert said(_HELD.format(name=name)) == "True True"
