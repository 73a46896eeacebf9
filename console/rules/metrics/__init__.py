"""What the console exports for Prometheus: which figures there are (`defined`), and how they are written (`text`)."""
