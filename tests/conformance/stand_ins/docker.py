"""Stands in for Docker's client in suites that start their broker in a container: one runs already, and nothing is started or stopped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Container:
    """Runs no command. Certificates are said to be made, since they are wanted before any test; Kafka's scripts are said to have failed."""

    def exec_run(self, command: Any, **_: Any) -> tuple[int, bytes]:
        return int("gen-ssl-certs" not in str(command)), b"there is no container"

    def stop(self) -> None:
        """Nothing is to be stopped."""


class Containers:
    def run(self, **_: Any) -> Container:
        return Container()


class Client:
    containers = Containers()
    images = SimpleNamespace(pull=lambda image: None)

    def close(self) -> None:
        """Nothing is open."""


models = SimpleNamespace(containers=SimpleNamespace(Container=Container))


def from_env() -> Client:
    return Client()
