"""Matches regular expressions in an output, as a separate program that can be killed.

Matching can take forever, and a thread cannot be stopped. This program limits its own processor time, reads one JSON
document `{"text", "patterns"}` and writes the distinct texts of each pattern's group.
"""

import json
import re
import resource
import sys

CPU_S = 5
LINE_CHARS = 65536
MATCHES_MAX = 100
_GOES_ON = re.compile(r"[0-9]|\.[0-9]|,[0-9]{3}(?![0-9])|[eE][+-]?[0-9]", re.ASCII)
"""The rest of a number of which a pattern matched only the start: 12 of 12.5, 12,500, 12e3 or 125."""


def matches_of(pattern: str, text: str) -> list[str]:
    """The distinct texts of the pattern's one group in any line, in order, at most MATCHES_MAX.

    A group that took no part in a match counts as empty text. If a number continues after the match, its rest is
    appended, unless the pattern itself matches what follows. Raises ValueError for a line longer than LINE_CHARS.
    """
    compiled = re.compile(pattern)
    texts: dict[str, None] = {}
    for line in text.split("\n"):
        if len(line) > LINE_CHARS:
            raise ValueError(f"it has a line of more than {LINE_CHARS} characters")
        for match in compiled.finditer(line):
            texts[_whole(line, match)] = None
            if len(texts) >= MATCHES_MAX:
                return list(texts)
    return list(texts)


def _whole(line: str, match: re.Match[str]) -> str:
    text = match[1] or ""
    end = match.end(1)
    if text[-1:].isdecimal() and match.end() == end and _GOES_ON.match(line, end):
        return f"{text} (it goes on: {line[end : end + 12]})"
    return text


def main() -> None:
    """Matches the document on standard input."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    request = json.load(sys.stdin)
    try:
        answer: object = [matches_of(pattern, request["text"]) for pattern in request["patterns"]]
    except ValueError as error:
        answer = str(error)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
