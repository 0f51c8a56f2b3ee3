"""Clouds of the long tail, each by its own row of one table, spoken to through apache-libcloud."""

from cloudcmp.provider.longtail.cloud import LongTailProvider
from cloudcmp.provider.longtail.policy import policy
from cloudcmp.provider.longtail.table import CLOUDS

__all__ = ["CLOUDS", "LongTailProvider", "policy"]
