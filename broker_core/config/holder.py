"""The settings in force: they may change while the broker runs (spec O1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker_core.config.broker import BrokerConfig
from broker_core.config.dynamic import check_dynamic
from broker_core.config.topic import TopicConfig

TopicListener = Callable[[str], None]


class ConfigHolder:
    """What everybody reads at use: `holder.current.x`, `holder.topic(name).y`."""

    def __init__(self, static: BrokerConfig) -> None:
        self.static = static
        self.current = static
        self.broker_overrides: Mapping[str, str] = {}
        self._topic_overrides: dict[str, dict[str, str]] = {}
        self._topics: dict[str, TopicConfig] = {}
        self._defaults: TopicConfig | None = None
        self._listeners: list[TopicListener] = []

    def topic(self, name: str) -> TopicConfig:
        """A topic's settings; one without overrides gets the broker's defaults."""
        return self._topics.get(name) or self._defaults or self.defaults

    @property
    def defaults(self) -> TopicConfig:
        if self._defaults is None:
            self._defaults = TopicConfig.from_overrides(self.current, {})
        return self._defaults

    def topic_overrides(self, name: str) -> Mapping[str, str]:
        return self._topic_overrides.get(name, {})

    def set_topic(self, name: str, overrides: Mapping[str, str]) -> None:
        """Replaces all of a topic's overrides; on `ConfigError` the old ones stay."""
        if overrides:
            self._topics[name] = TopicConfig.from_overrides(self.current, overrides)
            self._topic_overrides[name] = dict(overrides)
        else:
            self._topics.pop(name, None)
            self._topic_overrides.pop(name, None)
        self._tell(name)

    def set_broker(self, overrides: Mapping[str, str]) -> None:
        """Replaces all dynamic broker settings; on `ConfigError` the old ones stay."""
        check_dynamic(overrides)
        self.current = self.static.with_overrides(overrides)
        self.broker_overrides = dict(overrides)
        self._defaults = None
        for name, topic_overrides in self._topic_overrides.items():
            self._topics[name] = TopicConfig.from_overrides(self.current, topic_overrides)
            self._tell(name)

    def on_topic_change(self, listener: TopicListener) -> None:
        """Calls back with the topic's name after its settings have changed."""
        self._listeners.append(listener)

    def _tell(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)
