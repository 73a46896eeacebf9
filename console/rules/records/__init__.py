"""Records as the console reads them: what is asked for, what matches, how bytes are shown and what is hidden. Pure."""
