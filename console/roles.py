"""Who may do what: three roles, each containing the one before, and the actor that a change is done by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from console.address import address_of

VIEWER, OPERATOR, ADMIN = "viewer", "operator", "admin"
ROLES = (VIEWER, OPERATOR, ADMIN)


class Refused(Exception):
    """The actor's role does not allow the change; the message says which role would."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something, by what way (`page`, `api`, `shell` or `job`), and from which address, where there is one."""

    name: str
    role: str
    via: str
    address: str = ""

    def may(self, role: str) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)

    def require(self, role: str, what: str) -> None:
        if not self.may(role):
            raise Refused(f"{what} needs the role {role}; {self.name} has {self.role}.")


BEAT = Actor("beat", OPERATOR, "job")
"""What is done by itself, when its time has come."""


def role_of(user: Any) -> str:
    """The strongest role among a user's groups; a user without one may only look."""
    if user.is_superuser:
        return ADMIN
    names = set(user.groups.values_list("name", flat=True))
    return next((role for role in reversed(ROLES) if role in names), VIEWER)


def actor_of(request: Any) -> Actor:
    """The signed-in person behind a page's request."""
    if not hasattr(request, "_actor"):
        request._actor = Actor(request.user.get_username(), role_of(request.user), "page", address_of(request))
    actor: Actor = request._actor
    return actor
