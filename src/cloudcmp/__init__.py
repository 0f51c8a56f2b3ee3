"""cloudcmp: measure what each cloud really gives, for what money, how surely, and answer."""

from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cloudcmp.app.notebook import Study

__version__ = "0.1.0"


def open(folder: "str | PathLike[str]") -> "Study":
    """Open a study for a notebook or a script; raises UserMistake if the folder holds none.

    Nothing is measured or written.
    """
    from cloudcmp.app.notebook import Study

    return Study(folder)
