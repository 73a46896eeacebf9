"""The kinds of errors that REST answers, as data: where a problem's `type` leads."""

from __future__ import annotations

from typing import Any

from ninja import Router

from console.api.answers import Listed, ProblemKind
from console.api.described import answers
from console.rules.problems import KINDS

router = Router(tags=["problems"])


@router.get("/problems")
@answers(Listed[ProblemKind])
def problems(request: Any) -> Listed[ProblemKind]:
    """All of them, on one page. A code keeps its meaning; new ones may come."""
    return Listed([ProblemKind(**kind._asdict()) for kind in KINDS.values()], None)
