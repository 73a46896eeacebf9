"""A broker's settings from environment variables, as containers give them.

`KAFKA_` and the setting's name in capitals with `_` for each dot: `KAFKA_LOG_DIRS` is `log.dirs`, `KAFKA_HIGHWATER_METRICS_PORT` is
`highwater.metrics.port`. A variable that begins so and names no setting is refused, as an unknown line of a property file is.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.config.broker import BROKER_KEYS
from broker_core.config.idle import IDLE_KEYS
from broker_core.errors import ConfigError

PREFIX = "KAFKA_"


def variable_of(name: str) -> str:
    """The variable that gives a setting."""
    return PREFIX + name.upper().replace(".", "_")


_NAMES = {variable_of(name): name for name in (*IDLE_KEYS, *BROKER_KEYS)}


def properties_from(environment: Mapping[str, str]) -> dict[str, str]:
    """Settings by Kafka's names; `ConfigError` names a variable that is none."""
    found = {}
    for variable, value in sorted(environment.items()):
        if not variable.startswith(PREFIX):
            continue
        name = _NAMES.get(variable)
        if name is None:
            raise ConfigError(f"The environment variable {variable} is no setting of a broker")
        found[name] = value
    return found
