"""The documents as text: pages, their fenced blocks, headings and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_TOP = ("README.md", "METHODOLOGY.md", "BIAS.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")
PAGES = (*(ROOT / name for name in _TOP), *sorted(DOCS.rglob("*.md")))
_FENCE = re.compile(r"^```(.*)$")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the words after the fence, the text inside, the line on which it begins."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def place(self) -> str:
        """The block as people find it."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def name_of(page: Path) -> str:
    """A page's name in a test's id."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    begun: tuple[int, str] | None = None
    inside: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is None:
            inside.append(line)
        elif begun is None:
            begun, inside = (number, fence[1].strip()), []
        else:
            yield Block(page, *begun, "\n".join(inside) + "\n")
            begun = None
    assert begun is None, f"{name_of(page)}: the block of line {begun} is not closed"


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as they are made of a heading's words."""
    found = re.findall(r"^#+ +(.*?)\s*$", prose(page), flags=re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in found)


def links(page: Path) -> Iterator[str]:
    """The targets of a page's links."""
    return (found[1] for found in _LINK.finditer(prose(page)))
