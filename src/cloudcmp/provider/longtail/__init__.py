"""Clouds of the long tail, each by its own row of one table, reached through apache-libcloud."""

from cloudcmp.provider.longtail.dialect import policy
from cloudcmp.provider.longtail.table import CLOUDS
