"""Code that the drivers of rented clouds share."""
