"""What is known, as samples for the analytics topic every 10 s."""
