"""What changes something: each checks the actor's role, writes an audit row, then does it through the gateway."""
