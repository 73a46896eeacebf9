"""Local brokers: start, stop, restart, kill, pause, resume."""

from __future__ import annotations

from console.actions.audit import audited
from console.errors import Invalid, Unconfirmed
from console.gateway import local
from console.models import Cluster
from console.roles import ADMIN, Actor

CONFIRMED = ("stop", "restart", "kill", "pause")


def act_on_broker(actor: Actor, cluster: Cluster, broker_id: int, action: str, *, confirm: str | None) -> None:
    """Stopping, killing and pausing take replicas away: they want the broker's id typed (`confirm`; None from a script)."""
    with audited(actor, ADMIN, f"{action} broker", str(broker_id), cluster=cluster):
        if action not in local.ACTIONS:
            raise Invalid("action", f"A broker can be told to {', '.join(local.ACTIONS)}; not to {action}.")
        if not cluster.is_local:
            raise Invalid("cluster", f"{cluster.pk} is not the local cluster: its processes are not ours to control.")
        if confirm is not None and action in CONFIRMED and confirm != str(broker_id):
            raise Unconfirmed("confirm", f"Type the broker's id, {broker_id}, to {action} it.")
        local.act(action, broker_id)
