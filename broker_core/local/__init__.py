"""Local processes: start, stop, kill, pause and resume brokers, ZooKeeper, Redis and the console's processes."""
