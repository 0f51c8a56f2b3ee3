"""What clouds answer where they say no, and where nothing is known of what was done: told alike by every driver."""

from dataclasses import dataclass

from cloudcmp.errors import IncompleteListing, LostAnswer, ProviderFault

LOOKED_FOR = "it is looked for by token, tag and name"
"""What becomes of something that may have been made: nobody has to do anything at once."""


@dataclass(frozen=True, slots=True)
class Coded:
    """An error's code, its text (untrusted, one line, cut) and its HTTP status, 0 where it has none."""

    code: str
    text: str
    status: int = 0

    @property
    def line(self) -> str:
        """Both in one."""
        return f"{self.code}: {self.text}" if self.text else self.code


def unclear_response(what: str, where: str, *, changes: bool) -> ProviderFault:
    """An answer that tells nothing: what was asked for may have been done, if it was a call that changes something."""
    return LostAnswer.at(where, what, LOOKED_FOR) if changes else IncompleteListing.at(where, what, "ask again")


def lost_response(kind: str, where: str, *, changes: bool) -> ProviderFault:
    """An answer that never came whole. Of an error only its `kind` is shown: its text may hold the answer itself."""
    return unclear_response(f"the answer was lost or cut short ({kind})", where, changes=changes)


def unnamed_resource(where: str) -> LostAnswer:
    """An answer that does not name what was made: then nothing is known of it."""
    return LostAnswer.at(where, "the answer does not say what was made", LOOKED_FOR)
