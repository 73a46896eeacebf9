"""UpdateFeatures v0–1 (KIP-584): every update is INVALID_REQUEST, as brokers in ZooKeeper mode have no features to finalize."""

from __future__ import annotations

from typing import Any

from broker_core.errors import ErrorCode
from broker_core.handlers.registry import Answer, Operation, Request, Scope, handler, on_cluster
from broker_core.protocol.api import ApiKey
from broker_core.protocol.codec import field

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@handler(ApiKey.UPDATE_FEATURES, versions=range(0, 2), needs=on_cluster(Operation.ALTER), scope=Scope.CLUSTER)
async def handle(request: Request) -> Answer:
    """One row per feature: what is wrong with the last update of it."""
    why = {update.feature: _why_not(update) for update in request.body.feature_updates}
    rows = [{"feature": name, "error_code": int(ErrorCode.INVALID_REQUEST), "error_message": text} for name, text in why.items()]
    return {"error_code": int(ErrorCode.NONE), "error_message": None, "results": rows}


def _why_not(update: Any) -> str:
    kind = field(update, "upgrade_type", SAFE_DOWNGRADE if field(update, "allow_downgrade", False) else UPGRADE)
    if not update.feature:
        return "Feature name can not be empty."
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "Received unknown upgrade type."
    if update.max_version_level >= 1:
        return "Could not apply finalized feature update because the provided feature is not supported."
    if kind != UPGRADE:
        return "Can not delete non-existing finalized feature."
    return f"Can not provide versionLevel: {update.max_version_level} less than 1 without setting the SAFE downgradeType in the request."
