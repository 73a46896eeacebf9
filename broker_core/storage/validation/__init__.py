"""What an append may bring, and what it becomes before it is written."""
