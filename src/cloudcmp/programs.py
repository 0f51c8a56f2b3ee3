"""Programs of others on this machine: where they are searched for."""

import os
import shutil
import sys
from pathlib import Path


def search_path() -> str:
    """The user's search path, with the programs that were installed beside cloudcmp first."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def find_program(name: str) -> str | None:
    """The path of a program; None if it is not installed."""
    return shutil.which(name, path=search_path())
