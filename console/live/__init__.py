"""From the brokers' feeds to the browser: merge, snapshot, publish, and the websocket that carries it."""
