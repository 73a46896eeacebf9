"""Where replicas should lie: goals, and plans that reach them with the least data moved. Pure."""
