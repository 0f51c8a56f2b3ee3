"""Network namespaces of this host as machines, which a bridge or a link of a known rate joins."""

from cloudcmp.provider.netns.cloud import NamespaceProvider as NamespaceProvider
