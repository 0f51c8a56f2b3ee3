"""What a regular expression finds in an output: run as a program of its own, which can be killed.

Matching can take for ever, and nothing stops a thread that does. This program limits its own processor time, reads one
JSON document `{"text", "patterns"}` and writes, for each pattern, the different texts of its group.
"""

import json
import re
import resource
import sys

CPU_S = 5
LINE_CHARS = 65536
FOUND_MAX = 100
_GOES_ON = re.compile(r"[0-9]|\.[0-9]|,[0-9]{3}(?![0-9])|[eE][+-]?[0-9]", re.ASCII)
"""What stands behind a number of which a pattern took the beginning only: 12 of 12.5, 12,500, 12e3 or 125."""


def found(pattern: str, text: str) -> list[str]:
    """The different texts of the pattern's one group in any line, in their order, and no more than FOUND_MAX.

    A group that took no part in a match counts as empty text. A number that goes on behind it is told with the rest,
    unless the pattern itself says what follows. Raises ValueError for a line longer than LINE_CHARS.
    """
    compiled = re.compile(pattern)
    said: dict[str, None] = {}
    for line in text.split("\n"):
        if len(line) > LINE_CHARS:
            raise ValueError(f"it has a line of more than {LINE_CHARS} characters")
        for match in compiled.finditer(line):
            said[_whole(line, match)] = None
            if len(said) >= FOUND_MAX:
                return list(said)
    return list(said)


def _whole(line: str, match: re.Match[str]) -> str:
    text = match[1] or ""
    end = match.end(1)
    if text[-1:].isdecimal() and match.end() == end and _GOES_ON.match(line, end):
        return f"{text} (it goes on: {line[end : end + 12]})"
    return text


def main() -> None:
    """Answer the question on standard input."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    asked = json.load(sys.stdin)
    try:
        answer: object = [found(pattern, asked["text"]) for pattern in asked["patterns"]]
    except ValueError as error:
        answer = str(error)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
