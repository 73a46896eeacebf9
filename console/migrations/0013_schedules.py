from __future__ import annotations

from typing import Any

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone

from console.rules.schedules.timetable import Timetable


def report_each_day(apps: Any, schema_editor: Any) -> None:
    """What came by the clock before is a schedule of each cluster now, at the same hour."""
    hour = settings.REPORT_HOUR
    cron = f"0 {6 if hour is None else hour} * * *"
    next_at = None if hour is None else Timetable(cron, "UTC").after(timezone.now())
    for cluster in apps.get_model("console", "Cluster").objects.all():
        apps.get_model("console", "Schedule").objects.create(
            cluster=cluster,
            name="Daily health report",
            kind="health_report",
            cron=cron,
            paused=hour is None,
            next_at=next_at,
            created_by="console",
        )


class Migration(migrations.Migration):

    dependencies = [
        ('console', '0012_job_paused'),
    ]

    operations = [
        migrations.CreateModel(
            name='ReturnElection',
            fields=[
                ('cluster', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='console.cluster')),
                ('is_on', models.BooleanField(default=False)),
                ('seen_event', models.BigIntegerField(default=0)),
                ('waiting', models.JSONField(default=dict)),
                ('set_by', models.CharField(max_length=150)),
                ('set_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('kind', models.CharField(max_length=40)),
                ('params', models.JSONField(default=dict)),
                ('cron', models.CharField(max_length=200)),
                ('zone', models.CharField(default='UTC', max_length=64)),
                ('paused', models.BooleanField(default=False)),
                ('next_at', models.DateTimeField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
                ('created_by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('changed_by', models.CharField(blank=True, max_length=150)),
                ('changed_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='console.cluster')),
            ],
        ),
        migrations.CreateModel(
            name='ScheduleRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField()),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('by', models.CharField(max_length=150)),
                ('outcome', models.CharField(max_length=14)),
                ('said', models.CharField(blank=True, max_length=1000)),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='console.job')),
                ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='console.schedule')),
            ],
        ),
        migrations.AddIndex(
            model_name='schedule',
            index=models.Index(fields=['next_at'], name='console_sch_next_at_c400fc_idx'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.UniqueConstraint(fields=('cluster', 'name'), name='schedule_name'),
        ),
        migrations.AddIndex(
            model_name='schedulerun',
            index=models.Index(fields=['schedule', '-id'], name='console_sch_schedul_f1a4db_idx'),
        ),
        migrations.AddConstraint(
            model_name='schedulerun',
            constraint=models.UniqueConstraint(fields=('schedule', 'due_at'), name='one_run_a_due_time'),
        ),
        migrations.RunPython(report_each_day, migrations.RunPython.noop),
    ]
