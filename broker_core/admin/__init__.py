"""Topics and settings as znodes: what handlers change in ZooKeeper for the controller and every broker to see."""
