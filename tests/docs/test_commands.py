"""Every command that the documents show can be typed: the verb exists, its options and arguments are understood."""

import shlex
from collections.abc import Iterator

import pytest
import typer
from tests.docs.pages import DOCS, PAGES, ROOT, Block, blocks
from typer.main import get_command

from cloudcmp.cli.main import build

APP = get_command(build())
SHELL = [block for page in PAGES for block in blocks(page) if block.info == "sh"]
TARGETS = {
    line.partition(":")[0]
    for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    if line[:1].isalpha() and ":" in line and ":=" not in line
}
_JOINTS = {"|", "&&", ";", ">"}
_WRITING = {"--out", "--study"}


def _commands(block: Block) -> Iterator[list[str]]:
    """The words of each simple command of a block, without comments."""
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        words: list[str] = []
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;>")
        lexer.whitespace_split = True
        for word in lexer:
            if word in _JOINTS:
                yield words
                words = []
            else:
                words.append(word)
        yield words


CLOUDCMP = [
    pytest.param(block, words, id=f"{block.place} {' '.join(words[1:])}")
    for block in SHELL
    for words in _commands(block)
    if words and words[0].rpartition("/")[2] == "cloudcmp"
]


def test_the_tutorial_and_every_how_to_show_commands() -> None:
    shown = {block.page for block in SHELL}
    wanted = {DOCS / "tutorial.md", *(DOCS / "how-to").glob("*.md")}
    assert len(wanted) >= 8
    assert wanted <= shown


@pytest.mark.parametrize(("block", "words"), CLOUDCMP)
def test_a_shown_command_is_understood(block: Block, words: list[str]) -> None:
    verbs = getattr(APP, "commands", {})
    rest = words[1:]
    if rest in (["--help"], ["--version"], ["--install-completion"]):
        return
    if " ".join(rest[:2]) in verbs:
        rest = [" ".join(rest[:2]), *rest[2:]]
    assert rest[0] in verbs, f"{block.place}: no verb {rest[0]!r}"
    try:
        verbs[rest[0]].make_context(rest[0], list(rest[1:]))
    except typer.Exit:
        assert "--help" in rest


@pytest.mark.parametrize(("block", "words"), CLOUDCMP)
def test_a_shown_study_file_is_there(block: Block, words: list[str]) -> None:
    written = {part.info.removeprefix("yaml ") for part in blocks(block.page) if part.info.startswith("yaml ")}
    for word in words:
        if word.endswith((".yaml", ".csv")) and words[words.index(word) - 1] not in _WRITING:
            assert word in written or (ROOT / word).is_file() or word in _files_made(block), f"{block.place}: {word}"


def _files_made(block: Block) -> set[str]:
    """What earlier commands of the page write, and tables that the page shows, or makes, in a block of that name."""
    shown = [part.info.partition(" ") for part in blocks(block.page)]
    made = {name for kind, _, name in shown if kind in {"csv", "python", "scenario", "utility"} and name}
    for other in blocks(block.page):
        if other.info == "sh":
            for words in _commands(other):
                made |= {words[at + 1] for at, word in enumerate(words[:-1]) if word in _WRITING}
    return made


def test_shown_make_targets_exist() -> None:
    shown = {words[1] for block in SHELL for words in _commands(block) if words[:1] == ["make"]}
    assert {"run", "test"} <= shown
    assert shown <= TARGETS
