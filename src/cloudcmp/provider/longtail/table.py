"""The table of the long-tail clouds, by the provider's name."""

from collections.abc import Mapping

from cloudcmp.provider.longtail import digitalocean, linode, vultr
from cloudcmp.provider.longtail.dialect import Cloud

CLOUDS: Mapping[str, Cloud] = {one.name: one for one in (digitalocean.CLOUD, linode.CLOUD, vultr.CLOUD)}
"""All rows."""
