"""The data folder: its names and small files, its open files, its disk."""
