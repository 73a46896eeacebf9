"""What happened, told as sentences: from before and after, from brokers, and from what `highwater up` noted."""
