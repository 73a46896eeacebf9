"""The workers' fixtures: the console's stage."""

from tests.support.console_fixtures import *  # noqa: F403
