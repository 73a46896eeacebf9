"""How many replicas and preferred leaderships each broker has, while a plan is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.planning.model import Host, Standing

OFFLINE_LOAD = 1 << 60
"""What a broker that is offline counts as: more than any that runs."""


class Load:
    """The brokers and their counts; a partition's change is told by `shift`."""

    def __init__(self, hosts: Iterable[Host], standing: Iterable[Standing] = ()) -> None:
        """A broker that only a partition names is known as one that is offline."""
        known = {host.broker_id: host for host in hosts}
        unknown = {broker for now in standing for broker in now.replicas} - known.keys()
        known |= {b: Host(broker_id=b, rack=None, is_online=False, replicas=0, preferred=0) for b in unknown}
        self.hosts = dict(sorted(known.items()))
        self._replicas = {b: host.replicas for b, host in self.hosts.items()}
        self._preferred = {b: host.preferred for b, host in self.hosts.items()}

    def is_online(self, broker: int) -> bool:
        return broker in self.hosts and self.hosts[broker].is_online

    def rack(self, broker: int) -> str | None:
        return self.hosts[broker].rack if broker in self.hosts else None

    def replicas(self, broker: int) -> int:
        return self._replicas[broker]

    def preferred(self, broker: int) -> int:
        return self._preferred[broker]

    def leading(self, broker: int) -> int:
        """What it would be chosen by as a leader: the fewer the better."""
        return self._preferred[broker] if self.is_online(broker) else OFFLINE_LOAD

    def shift(self, before: Sequence[int], after: Sequence[int]) -> None:
        for brokers, sign in ((before, -1), (after, 1)):
            for place, broker in enumerate(brokers):
                self._replicas[broker] = self._replicas.get(broker, 0) + sign
                if place == 0:
                    self._preferred[broker] = self._preferred.get(broker, 0) + sign
