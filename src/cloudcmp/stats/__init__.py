"""Statistics on plain arrays: estimates with intervals, tests, power, histograms. Only this room imports scipy."""
