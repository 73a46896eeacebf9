"""`manage.py bootstrap`: database, roles, the local cluster and the first admin, whose password is printed once."""

from __future__ import annotations

import os
import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import transaction

from console import env
from console.actions.schedules import first_schedules
from console.management.program import Program
from console.models import Cluster
from console.roles import ROLES

ADMIN_NAME = "admin"


class Command(Program):
    help = "Prepares the database; prints the first admin's password, once."

    def handle(self, *args: Any, **options: Any) -> None:
        settings.CONSOLE_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
        call_command("migrate", interactive=False, verbosity=0)
        call_command("clearsessions")
        for role in ROLES:
            Group.objects.get_or_create(name=role)
        with transaction.atomic():
            cluster, is_new = Cluster.objects.update_or_create(
                pk=settings.LOCAL_CLUSTER,
                defaults={
                    "name": "local",
                    "bootstrap_servers": settings.BOOTSTRAP_SERVERS,
                    "zookeeper": settings.ZOOKEEPER,
                    "is_local": settings.LOCAL_PROCESSES,
                },
            )
            if is_new:
                first_schedules(cluster)
        self._first_admin()

    def _first_admin(self) -> None:
        if User.objects.exists():
            self.stdout.write("admin exists")
            return
        given = env.secret(os.environ, "HIGHWATER_ADMIN_PASSWORD")
        password = given or secrets.token_urlsafe(12)
        admin = User.objects.create_user(ADMIN_NAME, password=password)
        admin.groups.add(Group.objects.get(name="admin"))
        self.stdout.write(f"admin name: {ADMIN_NAME}")
        self.stdout.write("admin password: as given" if given else f"admin password: {password}")
