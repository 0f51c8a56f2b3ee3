"""The choice of an offering: needs, an objective, and how sure it is."""
