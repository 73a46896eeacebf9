"""A real cluster for tests: ZooKeeper and three broker processes on free ports, in a folder of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from broker_core.local import brokers, control
from broker_core.local.layout import BROKER_IDS, Layout
from broker_core.local.process import wait_until
from tests.support.metadata import metadata_of
from tests.support.ports import free_ports


class TestCluster:
    """Start, stop, kill, pause and resume by broker id; `overrides` are settings for every broker."""

    __test__ = False

    def __init__(self, data: Path, overrides: dict[str, str] | None = None) -> None:
        self.data = data
        first = free_ports(9)
        self.environment = {
            "HIGHWATER_ZOOKEEPER_PORT": str(first),
            "HIGHWATER_REDIS_PORT": str(first + 1),
            "HIGHWATER_CONSOLE_PORT": str(first + 2),
            "HIGHWATER_BROKER_PORT": str(first + 3),
            "HIGHWATER_METRICS_PORT": str(first + 6),
            "HIGHWATER_REPORT_HOUR": "never",  # tests compare the reports that they ask for
            "HIGHWATER_ANALYTICS_MINUTES": "0",  # a driver that starts by itself would run beside later tests, or clash with theirs
        }
        self._here()
        self.layout = Layout.from_environment(data)
        self.layout.prepare()
        for broker_id in BROKER_IDS if overrides else ():
            path = brokers.write_properties(self.layout, broker_id)
            lines = {line.partition("=")[0]: line for line in path.read_text().splitlines()}
            lines.update({name: f"{name}={value}" for name, value in (overrides or {}).items()})
            path.write_text("\n".join(lines.values()) + "\n")

    def _here(self) -> None:
        """What is asked of `control` is this cluster's, whichever was made last."""
        os.environ.update(self.environment)

    @property
    def bootstrap_servers(self) -> str:
        return self.layout.bootstrap_servers

    def up(self) -> None:
        self._here()
        control.cluster_up(self.data, lambda words: None)

    def down(self) -> None:
        self._here()
        control.cluster_down(self.data, lambda words: None)

    def start(self, broker_id: int) -> None:
        self._here()
        control.start_broker(self.data, broker_id)

    def stop(self, broker_id: int) -> None:
        self._here()
        control.stop_broker(self.data, broker_id)

    def kill(self, broker_id: int) -> None:
        self._here()
        control.kill_broker(self.data, broker_id)

    def pause(self, broker_id: int) -> None:
        self._here()
        control.pause_broker(self.data, broker_id)

    def resume(self, broker_id: int) -> None:
        self._here()
        control.resume_broker(self.data, broker_id)

    def running(self) -> list[int]:
        self._here()
        return [broker["broker_id"] for broker in control.status(self.data)["brokers"] if broker["state"] == "running"]

    def pid(self, broker_id: int) -> int:
        found = brokers.broker_process(self.layout, broker_id).pid()
        assert found is not None
        return found

    def heal(self) -> None:
        """Resumes what is paused and starts what is stopped; done once all brokers know each other and the same controller."""
        self._here()
        for broker in control.status(self.data)["brokers"]:
            if broker["state"] == "paused":
                self.resume(broker["broker_id"])
            elif broker["state"] == "stopped":
                self.start(broker["broker_id"])
        eventually(self._agreed, 60, "all brokers know each other and one controller")

    def _agreed(self) -> bool:
        told = [metadata_of(self.layout.port_of(broker_id)) for broker_id in BROKER_IDS]
        known = {answer and (answer.controller_id, tuple(sorted(broker.node_id for broker in answer.brokers))) for answer in told}
        return known <= {(controller_id, BROKER_IDS) for controller_id in BROKER_IDS} and len(known) == 1


def eventually(condition: Callable[[], Any], seconds: float = 60.0, what: str = "the condition") -> Any:
    """The condition's first true value; an assertion error that names it when there is none in time."""
    found: list[Any] = []

    def holds() -> bool:
        found[:] = [condition()]
        return bool(found[0])

    assert wait_until(holds, seconds), f"{what} did not hold within {seconds:.0f} s; last: {found[0]!r}"
    return found[0]
