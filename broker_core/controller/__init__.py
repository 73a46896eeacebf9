"""The controller: one broker decides who leads, who replicates, and tells the others."""
