"""Consumer groups: pure state machines and codecs, and one shell (`coordinator.py`) that runs them on `__consumer_offsets`."""
