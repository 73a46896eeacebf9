"""Record batches, the message sets before them, and their compression."""
