"""`manage.py token_create NAME --role ROLE`: prints a new API token on the last line, once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, connection

from console.actions.tokens import create_token
from console.errors import Conflict, Invalid
from console.management.program import Program
from console.models import ApiToken, AuditEntry
from console.roles import ADMIN, ROLES, Actor


class Command(Program):
    help = "Makes an API token and prints it, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", choices=ROLES, required=True)
        parser.add_argument("--days", type=int, default=ApiToken.DAYS, help=f"until it expires: 1 to {ApiToken.DAYS_MAX}")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            row, token = create_token(Actor("shell", ADMIN, "shell"), options["name"], options["role"], options["days"])
        except (Invalid, Conflict) as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            if AuditEntry._meta.db_table in connection.introspection.table_names():
                raise
            raise CommandError("The database is not set up: run make up once.") from error
        self.stdout.write(
            f"token {row.name!r} with the role {row.role}, good until {row.expires_at:%Y-%m-%d %H:%M} UTC; it is shown only now:"
        )
        self.stdout.write(token)
