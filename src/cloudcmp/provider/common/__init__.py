"""What the drivers of rented clouds share."""
