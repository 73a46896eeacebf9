"""Pure decisions: what a partition, a group and a cluster are worth saying about. Pages, events and reports use the same ones."""
