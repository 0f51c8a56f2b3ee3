"""cloudcmp: measure what each cloud really gives, for what money, how surely, and answer."""

__version__ = "0.1.0"
