"""One file per API key; `registry.py` finds them."""
