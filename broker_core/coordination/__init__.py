"""The coordination store: contract, ZooKeeper adapter, in-memory twin and znode layout."""
