"""The segments of a log: files of batches, and the sparse indexes beside each."""
