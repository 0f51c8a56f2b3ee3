"""Statistics on plain arrays: estimates with intervals, tests, effects, power, histograms. The only room that imports scipy."""
