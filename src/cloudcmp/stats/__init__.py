"""Statistics on plain arrays: estimates with intervals, tests, effects, power, histograms; alone in importing scipy."""
