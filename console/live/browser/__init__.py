"""The websocket: what a browser asked to see, and one latest value per key for it."""
