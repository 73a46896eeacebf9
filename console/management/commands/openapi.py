"""`manage.py openapi`: prints the description of REST, as `/api/v1/openapi.json` gives it."""

from __future__ import annotations

import json
from typing import Any

from console.api import api
from console.api.described import ROOT
from console.management.program import Program


class Command(Program):
    help = "Prints the OpenAPI description of REST."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(api.get_openapi_schema(path_prefix=ROOT), indent=1))
