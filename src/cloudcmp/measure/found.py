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


def found(pattern: str, text: str) -> list[str]:
    """The different texts of the pattern's one group in any line, in their order, and no more than FOUND_MAX.

    A group that took no part in a match counts as empty text. Raises ValueError for a line longer than LINE_CHARS.
    """
    compiled = re.compile(pattern)
    said: dict[str, None] = {}
    for line in text.split("\n"):
        if len(line) > LINE_CHARS:
            raise ValueError(f"it has a line of more than {LINE_CHARS} characters")
        for match in compiled.finditer(line):
            said[match[1] or ""] = None
            if len(said) >= FOUND_MAX:
                return list(said)
    return list(said)


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
