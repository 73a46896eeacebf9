"""The wanted state of a cluster: YAML files say which topics there are to be, and how; what differs is drift, and can be mended. Pure."""
