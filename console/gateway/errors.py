"""What the gateway raises: always with the cluster's own words, and its code where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kafka.errors

from broker_core.errors import RETRIABLE, ErrorCode


class GatewayError(Exception):
    """The cluster refused or did not answer. `code` is Kafka's number or None, `name` Kafka's name or a word of ours; `message` may be
    empty where there is a code."""

    def __init__(self, name: str, message: str, code: int | None = None, *, retriable: bool = False) -> None:
        self.name, self.message, self.code, self.retriable = name, message, code, retriable
        super().__init__(": ".join(part for part in (name if code is None else f"{name} ({code})", message) if part))


class WrongSettings(GatewayError):
    """The brokers refuse these settings: `errors` has by name what they say of each. Code and name are those of the first."""

    def __init__(self, errors: Mapping[str, GatewayError]) -> None:
        self.errors = dict(errors)
        first = next(iter(self.errors.values()))
        super().__init__(first.name, "; ".join(error.message for error in self.errors.values()), first.code)


class ClusterUnreachable(GatewayError):
    """No broker of the cluster answers in time."""

    def __init__(self, message: str) -> None:
        super().__init__("CLUSTER_UNREACHABLE", message, retriable=True)


class Unfinished(GatewayError):
    """The cluster took a request and was not done when the time was up."""

    def __init__(self, who: str) -> None:
        said = f"{who} did not finish in time; what was asked may still be carried out"
        super().__init__("REQUEST_TIMED_OUT", said, int(ErrorCode.REQUEST_TIMED_OUT), retriable=True)


UNREACHABLE = (
    kafka.errors.Cancelled,
    kafka.errors.UnknownBrokerIdError,
    kafka.errors.MetadataEmptyBrokerList,
    kafka.errors.KafkaConnectionError,
    kafka.errors.KafkaTimeoutError,
    kafka.errors.NodeNotReadyError,
    kafka.errors.RequestTimedOutError,
)


def from_code(code: int, message: str | None) -> GatewayError:
    try:
        known = ErrorCode(code)
    except ValueError:
        return GatewayError("UNKNOWN_ERROR", message or "", code)
    if known is ErrorCode.REQUEST_TIMED_OUT:
        return Unfinished("the cluster")
    return GatewayError(known.name, message or "", code, retriable=known in RETRIABLE)


def from_kafka(error: Exception, servers: str) -> GatewayError:
    """A client library's exception in the gateway's terms."""
    if isinstance(error, kafka.errors.RequestTimedOutError):
        return Unfinished(f"the cluster at {servers}")
    if isinstance(error, kafka.errors.UnknownBrokerIdError):
        return ClusterUnreachable(f"broker {error.args[0]} is not known at {servers} yet")
    if isinstance(error, UNREACHABLE):
        return ClusterUnreachable(f"no broker at {servers} answered in time ({type(error).__name__})")
    code = getattr(error, "errno", None)
    if isinstance(error, kafka.errors.BrokerResponseError) and isinstance(code, int):
        return from_code(code, None)
    return GatewayError(type(error).__name__, str(error) or type(error).__name__)


def from_librdkafka(error: Any, servers: str) -> GatewayError:
    """A `confluent_kafka.KafkaError`, or None for none: codes below zero are the library's own."""
    if error is None or error.code() < 0:
        said = "nothing was acknowledged in time" if error is None else error.str()
        return ClusterUnreachable(f"no broker at {servers} answered in time ({said})")
    return from_code(error.code(), error.str())
