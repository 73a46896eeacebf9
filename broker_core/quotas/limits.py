"""Which limit holds for a user with a client id, and who shares it: the precedence of Kafka's `DefaultQuotaCallback`.

The first of these that is set decides. All connections of one payer share its limit:

    1  user alice, client id app           alice's app
    2  user alice, every client id         each client id of alice
    3  user alice                          alice, whatever the client id
    4  every user, client id app           app of each user
    5  every user, every client id         each client id of each user
    6  every user                          each user
    7  client id app                       app, whoever the user is
    8  every client id                     each client id, whoever the user is

Who names no client id has no limit of one; where 1, 2, 4 or 5 would hold it has that of its user, 3 or 6, if any.
"""

from __future__ import annotations

from typing import NamedTuple

from broker_core.quotas.entities import CLIENT_ID, USER, Entity

Name = str | None
"""None: the default, that of all who have none of their own."""
DEFAULT: Name = None


class Payer(NamedTuple):
    """Who shares a limit; "" for any."""

    user: str
    client_id: str


class Limits:
    """Those of one kind of quota. An empty one is false."""

    def __init__(self) -> None:
        self._users: dict[Name, float] = {}
        self._clients: dict[Name, float] = {}
        self._both: dict[tuple[Name, Name], float] = {}

    def __bool__(self) -> bool:
        return bool(self._users or self._clients or self._both)

    def put(self, entity: Entity, limit: float | None) -> bool:
        """Sets it, or takes it away by None; whether that changed anything."""
        table, name = self._place(entity)
        before = table.get(name)
        if limit is None:
            table.pop(name, None)
        else:
            table[name] = limit
        return before != limit

    def _place(self, entity: Entity) -> tuple[dict[object, float], object]:
        if USER in entity and CLIENT_ID in entity:
            return self._both, (entity[USER], entity[CLIENT_ID])  # type: ignore[return-value]
        if USER in entity:
            return self._users, entity[USER]  # type: ignore[return-value]
        return self._clients, entity[CLIENT_ID]  # type: ignore[return-value]

    def of(self, user: str, client_id: str) -> tuple[Payer, float | None]:
        """Who pays, and the limit; None without one."""
        payer = self._payer(user, client_id)
        return payer, self._limit(payer)

    def _payer(self, user: str, client_id: str) -> Payer:
        both = self._both
        if (user, client_id) in both or (user, DEFAULT) in both:
            return Payer(user, client_id)
        if user in self._users:
            return Payer(user, "")
        if (DEFAULT, client_id) in both or (DEFAULT, DEFAULT) in both:
            return Payer(user, client_id)
        return Payer(user, "") if DEFAULT in self._users else Payer("", client_id)

    def _limit(self, payer: Payer) -> float | None:
        user, client_id = payer
        if user and client_id:
            names = ((user, client_id), (user, DEFAULT), (DEFAULT, client_id), (DEFAULT, DEFAULT))
            return next((self._both[name] for name in names if name in self._both), None)
        if user:
            return self._users.get(user, self._users.get(DEFAULT))
        return self._clients.get(client_id, self._clients.get(DEFAULT)) if client_id else None
