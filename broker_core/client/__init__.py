"""The one request client inside the system: fetchers, the controller, transaction markers, the console's state feed."""
