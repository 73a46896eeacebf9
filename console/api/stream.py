"""The live state of a cluster as server-sent events."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router
from pydantic import Field

from console import queries
from console.api.bearer import Bearer
from console.live.browser.consumer import session_group, token_group
from console.live.browser.stream import Stream
from console.live.browser.subscription import QUERY_BYTES_LIMIT, BadSubscription, Subscription, parse
from console.queries import BadQuery
from console.roles import Actor, actor_of

router = Router(tags=["clusters"])
Names = Annotated[str, Field(max_length=QUERY_BYTES_LIMIT)]


def signed_in(request: HttpRequest) -> Actor | None:
    """A page of ours (`EventSource` sends no headers but the session's cookie); of another site's it can read nothing."""
    return actor_of(request) if request.user.is_authenticated else None


@router.get("/clusters/{cluster_id}/stream", auth=[Bearer(), signed_in], include_in_schema=False)
def stream(
    request: Any,
    cluster_id: str,
    *,
    brokers: Names = "",
    topic_rows: Names = "",
    topics: Names = "",
    group_rows: Names = "",
    groups: Names = "",
    events: Names = "",
    jobs: Names = "",
) -> StreamingHttpResponse:
    """What is wanted is named as for the websocket: `brokers=1`, `events=1`, `jobs=1`, `topic_rows=a,b`, `topics=a:0-9`, `groups=g`."""
    cluster = queries.cluster_of(cluster_id)
    asked = {"brokers": brokers, "topic_rows": topic_rows, "topics": topics, "group_rows": group_rows, "groups": groups}
    wanted = _wanted({**asked, "events": events, "jobs": jobs, "cluster": cluster.pk})
    made = Stream(_who(request), wanted, group=_group(request), expires_at=_expires_at(request), last_id=_last_id(request))
    answer = StreamingHttpResponse(made, content_type="text/event-stream; charset=utf-8")
    answer.headers["X-Accel-Buffering"] = "no"
    return answer


def _wanted(asked: dict[str, str]) -> Subscription:
    try:
        return parse(urlencode({name: value for name, value in asked.items() if value}))
    except BadSubscription as error:
        raise BadQuery("query", str(error)) from error


def _who(request: Any) -> str:
    row = getattr(request, "api_token", None)
    return f"token {row.pk}" if row is not None else f"user {request.user.pk}"


def _group(request: Any) -> str:
    row = getattr(request, "api_token", None)
    return token_group(row.pk) if row is not None else session_group(request.session.session_key)


def _expires_at(request: Any) -> float | None:
    row = getattr(request, "api_token", None)
    return float(row.expires_at.timestamp()) if row is not None else None


def _last_id(request: Any) -> int | None:
    """0 of what is no id of ours: nothing is known of what the listener has seen."""
    text = request.headers.get("Last-Event-ID", "").strip()
    if not text:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
