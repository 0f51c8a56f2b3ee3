"""The answer in words, for who paid for the question."""

from cloudcmp.answer.words import in_words

__all__ = ["in_words"]
