"""Which arm? Strategies that decide which arms to pull and when to stop."""
