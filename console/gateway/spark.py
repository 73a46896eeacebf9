"""How far the installation of what analyses need is, on this machine."""

from __future__ import annotations

from broker_core.contract.installs import Install
from broker_core.local import spark_install


def install() -> Install:
    return spark_install.status()
