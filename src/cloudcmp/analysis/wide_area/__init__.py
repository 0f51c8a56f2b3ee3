"""The wide area analysed: places, impossible times, the best site of each vantage point, mapping, page times."""
