from typing import Any

from django.db import migrations, models

import console.fields


def to_findings(apps: Any, schema_editor: Any) -> None:
    """Reports of before as they are shown now: each item a finding of which no more than the sentence is known."""
    for row in apps.get_model("console", "HealthReport").objects.iterator():
        row.checks = [_check(check) for check in row.checks]
        row.changed = {kind: _changed(kind, (row.changed or {}).get(kind, [])) for kind in ("new", "worse", "better", "gone", "uncertain")}
        row.save(update_fields=["checks", "changed"])


def _check(check: dict[str, Any]) -> dict[str, Any]:
    items = check.get("items", [])
    blank = {"evidence": "", "advice": "", "href": "", "place": "", "weight": 0}
    findings = [{"key": item, "level": check["level"], "sentence": item, **blank} for item in items[:20]]
    rest = {name: check[name] for name in ("id", "title", "level", "sentence")}
    return {**rest, "number": "", "unknown": "", "count": len(items), "findings": findings, "keys": {}}


def _changed(kind: str, items: list[str]) -> dict[str, Any]:
    rows = [{"kind": kind, "number": "", "key": item, "level": "notice", "sentence": item} for item in items[:50]]
    return {"count": len(items), "items": rows}


class Migration(migrations.Migration):

    dependencies = [
        ("console", "0013_schedules"),
    ]

    operations = [
        migrations.AddField(model_name="healthreport", name="format", field=models.SmallIntegerField(default=1)),
        migrations.AddField(
            model_name="healthreport", name="basis", field=console.fields.NameField(blank=True, default="", max_length=100)
        ),
        migrations.AddField(model_name="healthreport", name="compared", field=models.BigIntegerField(null=True)),
        migrations.RunPython(to_findings, migrations.RunPython.noop),
    ]
