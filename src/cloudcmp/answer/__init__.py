"""The answer in words."""

from cloudcmp.answer.offers import Offered, Services, Type, Where, offered
from cloudcmp.answer.words import in_words

__all__ = ["Offered", "Services", "Type", "Where", "in_words", "offered"]
