"""Keeping the clouds' libraries from logging what they send: user data, tokens and keys."""

import logging


def limit_logging(*names: str, level: int = logging.WARNING) -> None:
    """Let the named libraries log nothing below a level, whatever levels were set before.

    What is stricter stays so; loggers below the named ones lose a level of their own that is more talkative, and those
    that are made later have none. It belongs after whatever of a library sets levels itself.
    """
    below = tuple(f"{name}." for name in names)
    # Each level that is set, even to what it was, has every logger of the process forget what it knows.
    for name in names:
        logger = logging.getLogger(name)
        if logger.level < level:
            logger.setLevel(level)
    for name, known in list(logging.root.manager.loggerDict.items()):
        if isinstance(known, logging.Logger) and name.startswith(below) and logging.NOTSET < known.level < level:
            known.setLevel(logging.NOTSET)
