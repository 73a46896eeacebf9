"""The process that reads records for the console: one child for each search, with limits of its own, so that whatever a topic holds can
end that search and nothing else."""
