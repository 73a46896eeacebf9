"""Settings of topics and brokers as a form: groups, units, what differs, what it means. Pure."""
