"""The controller's way to the brokers: what it tells them, in which order, over which connections."""
