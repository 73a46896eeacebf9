"""The command `highwater`: local cluster, brokers, tokens, and the whole system of `make up`."""
