"""State kept on an internal topic: what a coordinator of groups, or of transactions, is built on."""
