"""The coordination store: contract, ZooKeeper adapter and znode layout."""
