"""One file per API key; `registry.py` holds what they share, `table.py` lists them all."""
