"""The wanted state of a cluster, and what differs from it."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("console", "0006_mask_rule")]

    operations = [
        migrations.CreateModel(
            name="WantedState",
            fields=[
                (
                    "cluster",
                    models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to="console.cluster"),
                ),
                ("files", models.JSONField(default=dict)),
                ("topics", models.IntegerField(default=0)),
                ("uploaded_by", models.CharField(max_length=150)),
                ("uploaded_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("looked_at", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, max_length=1000)),
                ("counts", models.JSONField(default=dict)),
                ("seen", models.CharField(blank=True, max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="WantedDrift",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="console.cluster")),
                ("object", models.CharField(max_length=260)),
                ("state", models.CharField(max_length=12)),
                ("value", models.JSONField(default=dict)),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("cluster", "object"), name="wanted_drift_object")]},
        ),
    ]
