"""Loaded before Django's settings: tests get a data folder of their own, never the one of `make up`."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="highwater-test-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
for _name in [name for name in os.environ if name.startswith("HIGHWATER_") or name == "DATABASE_URL"]:
    del os.environ[_name]
os.environ["HIGHWATER_DATA"] = _folder
