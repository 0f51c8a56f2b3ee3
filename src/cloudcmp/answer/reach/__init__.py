"""Which provider reaches vantage points best."""
