"""What all commands of `manage.py` begin from."""

from __future__ import annotations

from django.core.management.base import BaseCommand


class Program(BaseCommand):
    """A command without Django's checks, which import all pages and all of REST: half of the start of a process that has neither.

    Tests make them, and the console itself imports all of that.
    """

    requires_system_checks = ()
