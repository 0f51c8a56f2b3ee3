"""The driver for the long-tail clouds, each a row of one table, through apache-libcloud."""

from cloudcmp.provider.longtail.dialect import policy
from cloudcmp.provider.longtail.table import CLOUDS
