"""The console's fixtures."""

from tests.support.console_fixtures import *  # noqa: F403
