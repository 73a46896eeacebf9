"""Schedules: when one is due by a cron expression in a time zone, what happens to a due time, and how both are said. Pure."""
