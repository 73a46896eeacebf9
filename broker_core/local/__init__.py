"""Local processes: start, stop, restart, kill, pause and resume brokers, ZooKeeper, Redis and the console's processes."""
