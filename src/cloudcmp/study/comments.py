"""A study's text without its comments: what is kept with the numbers is what was asked, and nothing beside it."""

import re

_COMMENT = re.compile(r"[ \t]*#[^\n]*")


def without_comments(text: str) -> str:
    """The same YAML without comments, line for line; a text that cannot be scanned comes back empty.

    Comments are notes to oneself: people keep account names, and worse, in them.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    kept, at = [], 0
    try:
        for token in YAML(typ="safe", pure=True).scan(text):
            start, end = token.start_mark.index, token.end_mark.index
            if start >= at:
                kept += [_COMMENT.sub("", text[at:start]), text[start:end]]
                at = end
    except YAMLError:
        return ""
    return "".join([*kept, _COMMENT.sub("", text[at:])])
