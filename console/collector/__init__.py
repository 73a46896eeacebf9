"""For clusters that have no state feed of ours: asks what any client may ask, and puts the answers into the same live state."""
