"""The answer in words."""

from cloudcmp.answer.offers import Services, Type, Where, offered
from cloudcmp.answer.words import in_words
