"""What samples prove of a service level, what it is worth, and which one to buy."""
