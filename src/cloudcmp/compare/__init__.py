"""The comparison of candidates: effects, tests of the whole family, verdicts, winners."""

from cloudcmp.compare.advertised import delivered_of
from cloudcmp.compare.best import asks_for_the_best
from cloudcmp.compare.co_location import OWN_HOSTS, co_location_of, is_pair
from cloudcmp.compare.comparisons import REPLICATION_UNKNOWN, Compared, compare
from cloudcmp.compare.isolation import effects_of
from cloudcmp.compare.looks import share_of
from cloudcmp.compare.selection import NextRound, came_back, next_round, rule_faults, to_decide
from cloudcmp.compare.steadiness import AS_STEADY, steady_pairs
from cloudcmp.compare.verdict import ALPHA, SAME_RATIO, deciding
from cloudcmp.compare.winners import WinnerRow, winner_rows
