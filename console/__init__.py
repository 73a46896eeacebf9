"""The admin console: what the cluster does, seen live, and the forms and REST that steer it."""
