"""Evidence of what a service did: a file of chained lines, its signed heads, and their reader."""
