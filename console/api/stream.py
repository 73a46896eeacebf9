"""The live state of a cluster as server-sent events."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router
from ninja.security import APIKeyCookie
from pydantic import Field

from console import queries
from console.api.bearer import Bearer
from console.api.described import Events, answers, saying
from console.api.stream_examples import examples
from console.live.browser.consumer import session_group, token_group
from console.live.browser.stream import EVENTS, STREAMS_LIMIT, STREAMS_OF_ONE_LIMIT, Stream
from console.live.browser.subscription import (
    DEFAULT_PARTITIONS,
    NAMES_LIMIT,
    PARTITIONS_LIMIT,
    QUERY_BYTES_LIMIT,
    BadSubscription,
    Subscription,
    parse,
)
from console.queries import BadQuery
from console.roles import Actor, actor_of

router = Router(tags=["clusters"])
ENCODED = f"names with commas between them, each percent-encoded (once more, in an address); {NAMES_LIMIT} at most"
RANGES = (
    f"with their partitions: `name:first-last`, or a name alone for the first {DEFAULT_PARTITIONS}, with commas between them; "
    f"{PARTITIONS_LIMIT} partitions at most"
)
FULL = f"{STREAMS_LIMIT} streams are open, or {STREAMS_OF_ONE_LIMIT} of this token or person: close one, or come later."


def _names(words: str, *shown: str) -> Any:
    return Field(max_length=QUERY_BYTES_LIMIT, description=words, examples=list(shown))


Wanted = Literal["", "0", "1"]
Brokers = Annotated[Wanted, Field(description="1: all brokers")]
Happened = Annotated[Wanted, Field(description="1: what happens, as sentences; first the 20 newest")]
Jobs = Annotated[str, Field(max_length=18, description="1: all jobs; or the id of one", examples=["1"])]
TopicRows = Annotated[
    str, _names(f"topics without their partitions: names with commas between them, {NAMES_LIMIT} at most", "orders,bills")
]
TopicNames = Annotated[str, _names(f"topics {RANGES}", "orders:0-9")]
GroupRows = Annotated[str, _names(f"groups without their offsets: {ENCODED}", "billing")]
GroupNames = Annotated[str, _names(f"groups with their offsets and lag on each partition: {ENCODED}", "billing")]


class Session(APIKeyCookie):
    """A page of ours (`EventSource` sends no headers but the session's cookie); of another site's it can read nothing."""

    param_name = settings.SESSION_COOKIE_NAME

    def authenticate(self, request: HttpRequest, key: str | None) -> Actor | None:
        return actor_of(request) if request.user.is_authenticated else None


@router.get("/clusters/{cluster_id}/stream", auth=[Bearer(), Session()])
@saying(s429=FULL)
@answers(Events(EVENTS, examples))
def stream(
    request: Any,
    cluster_id: str,
    *,
    brokers: Brokers = "",
    topic_rows: TopicRows = "",
    topics: TopicNames = "",
    group_rows: GroupRows = "",
    groups: GroupNames = "",
    events: Happened = "",
    jobs: Jobs = "",
) -> StreamingHttpResponse:
    """The live state of the cluster and of what is named, as server-sent events. The answer has no end: read it as it comes, what waits
    for all of it waits for ever. It ends with an event that says why when the token is revoked or expires, or the live snapshot is away."""
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
