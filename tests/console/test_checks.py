"""Django's checks are made here and not at each start: they import all pages and all of REST, which most programs have no use for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest
from django.core.management import call_command

from broker_core.cli.system import ROOT
from console.management import commands
from console.management.program import Program

WITHOUT = "import sys; assert not {'console.api', 'console.urls'} & set(sys.modules)"
NAMES = [module.name for module in iter_modules(commands.__path__)]
OF_THE_WORKERS = "from workers.app import app; app.loader.import_default_modules(); import workers.tasks.jobs"
DESCRIBES_REST = "openapi"


@pytest.mark.django_db
def test_django_finds_nothing_wrong() -> None:
    call_command("check", fail_level="WARNING")
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("name", NAMES)
def test_no_command_of_ours_makes_them(name: str) -> None:
    assert issubclass(import_module(f"{commands.__name__}.{name}").Command, Program)


def test_workers_and_commands_start_without_pages_and_rest() -> None:
    of_commands = "; ".join(f"import {commands.__name__}.{name}" for name in NAMES if name != DESCRIBES_REST)
    done = subprocess.run(
        [sys.executable, "-c", f"{OF_THE_WORKERS}; {of_commands}; {WITHOUT}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
