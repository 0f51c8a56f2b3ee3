"""Statistics on plain arrays: estimates with intervals, tests, effects, power, histograms. No other room imports
scipy.
"""
