"""Copying of records, in a process of its own for each of a job's steps: whatever a topic holds can end that step and nothing else."""
