"""The answer in words."""

from cloudcmp.answer.effects import leading
from cloudcmp.answer.offers import Services, Type, Where, offered
from cloudcmp.answer.outlook import more_rounds, outlooks
from cloudcmp.answer.selection import changes, dropped_lines, end_lines, rule_text, standing_lines
from cloudcmp.answer.words import chance_words, in_words, place_in_decide, standings, undecided
