"""Addresses in the audit, tokens that expire (those there are get the default from now on), and lanes of sign-ins."""

from datetime import datetime, timedelta

from django.db import migrations, models
from django.utils import timezone


def in_90_days() -> datetime:
    return timezone.now() + timedelta(days=90)


class Migration(migrations.Migration):
    dependencies = [("console", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="SignInLane",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64, unique=True)),
                ("wrong", models.IntegerField(default=0)),
                ("next_at", models.FloatField(default=0)),
                ("until", models.FloatField()),
            ],
        ),
        migrations.AddField("apitoken", "expires_at", models.DateTimeField(default=in_90_days), preserve_default=False),
        migrations.AddField("auditentry", "address", models.CharField(blank=True, default="", max_length=45), preserve_default=False),
        migrations.AddIndex(
            "auditentry", models.Index(fields=["action", "actor", "address"], name="console_aud_action_75cf6b_idx")
        ),
    ]
