"""Credits of providers for downtime: the tables as data, and what a measured downtime pays."""
