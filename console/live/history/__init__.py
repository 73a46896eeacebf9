"""The last day, kept on disk: what the live state was at any moment, laid out again for the pages, and what changed between two."""
