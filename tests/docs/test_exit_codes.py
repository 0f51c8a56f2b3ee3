"""The exceptions are told as they are: in their own file, and on the page of exit codes."""

import inspect
import re

from tests.docs.pages import DOCS, blocks

from cloudcmp import errors
from cloudcmp.errors import CheckFailed, CloudcmpError, UserMistake

_LINE = re.compile(r"^(?P<branches>[│├└─ ]*)(?P<name>[A-Z][A-Za-z]+)  ?\s*\S")


def drawn(text: str) -> dict[str, str]:
    """The name of each exception of a drawn tree and of the one above it, empty for the topmost."""
    found: dict[str, str] = {}
    path: list[str] = []
    for line in text[text.index("CloudcmpError") :].splitlines():
        if told := _LINE.match(line):
            depth = len(told["branches"]) // 4
            found[told["name"]] = path[depth - 1] if depth else ""
            path = [*path[:depth], told["name"]]
    return found


def there() -> dict[str, str]:
    """The same of the classes themselves."""
    classes = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, CloudcmpError)]
    return {one.__name__: "" if one is CloudcmpError else one.__base__.__name__ for one in classes}


def test_the_tree_of_exceptions_is_drawn_as_it_is_and_shown_on_the_page() -> None:
    assert len(there()) > 15
    assert drawn(errors.__doc__ or "") == there()
    page = DOCS / "reference" / "exit-codes.md"
    (shown,) = [block.text for block in blocks(page) if "CloudcmpError" in block.text]
    assert shown.strip() in (errors.__doc__ or "")
    assert drawn(shown) == there()


def test_a_failed_check_exits_with_1_what_a_user_must_change_with_2_and_all_the_rest_with_3() -> None:
    for name in there():
        one = getattr(errors, name)
        expected = 1 if issubclass(one, CheckFailed) else 2 if issubclass(one, UserMistake) else 3
        assert one.exit_code == expected, name
