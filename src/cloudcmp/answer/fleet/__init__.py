"""What to do with a fleet: which machines move where, what that saves, and what to measure first."""
