"""Keeps the clouds' libraries from logging user data, tokens and keys."""

import logging


def limit_logging(*names: str, level: int = logging.WARNING) -> None:
    """Makes the named libraries log nothing below a level, also their child loggers; stricter levels stay."""
    below = tuple(f"{name}." for name in names)
    # Setting a level, even to the same value, clears the caches of all loggers of the process.
    for name in names:
        logger = logging.getLogger(name)
        if logger.level < level:
            logger.setLevel(level)
    for name, known in list(logging.root.manager.loggerDict.items()):
        if isinstance(known, logging.Logger) and name.startswith(below) and logging.NOTSET < known.level < level:
            known.setLevel(logging.NOTSET)
