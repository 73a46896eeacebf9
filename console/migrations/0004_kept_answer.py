"""Answers to changes with an `Idempotency-Key`."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0003_lists"), ("console", "0003_registered_clusters")]

    operations = [
        migrations.CreateModel(
            name="KeptAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("holder", models.CharField(max_length=64)),
                ("key", models.CharField(max_length=200)),
                ("asked", models.CharField(max_length=64)),
                ("status", models.IntegerField(default=0)),
                ("body", models.TextField(blank=True)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("holder", "key"), name="kept_answer_key")]},
        ),
    ]
