from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('console', '0011_console_setting'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='paused',
            field=models.BooleanField(default=False),
        ),
    ]
