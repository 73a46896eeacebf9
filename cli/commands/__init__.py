"""The commands that ask REST, a file a noun; each has `add(commands)`."""
