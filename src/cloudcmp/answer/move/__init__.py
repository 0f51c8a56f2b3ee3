"""What it takes to move data into a region and out again."""
