"""Finds where a provider of a study is behind the others."""

from dataclasses import dataclass
from pathlib import Path

from cloudcmp.answer.gaps import Gaps, gaps_of
from cloudcmp.app.study_view import view
from cloudcmp.model.view import View


@dataclass(frozen=True, slots=True)
class ProviderGaps:
    """The gaps of a provider, and the view of the study that they are from."""

    found: Gaps
    view: View


def gaps(folder: Path, provider: str, *, anonymise: bool = False) -> ProviderGaps:
    """Find where a provider is behind; `anonymise` replaces names, and `provider` is then the new one, such as C2.

    Raises UserMistake for a provider that the study does not have, and as `view` does.
    """
    shown = view(folder, drawn=False, anonymise=anonymise)
    return ProviderGaps(gaps_of(shown, provider), shown)
