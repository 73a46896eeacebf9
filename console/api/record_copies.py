"""Copying records to another topic: what a copy would do. Asked for it is as a job of the kind `record_copy`."""

from __future__ import annotations

from typing import Any

from ninja import Router

from console import queries
from console.actions.record_copy import plan_copy
from console.api.bearer import Bearer
from console.api.described import answers
from console.api.shapes import Strict
from console.jobs.record_copy import CopyParameters
from console.roles import OPERATOR
from console.rules.records.copying import CopyPlan

router = Router(tags=["records"])


class CopyAsked(CopyParameters, Strict):
    model_config = CopyParameters.model_config | {
        "json_schema_extra": {
            "examples": [{"source": "orders.DLT", "target": "orders", "from_offset": 0, "filter": {"text": "timeout"}, "mark": True}]
        }
    }


@router.post("/clusters/{cluster_id}/record-copies/plan", auth=Bearer(OPERATOR, "copy records"))
@answers(CopyPlan)
def plan(request: Any, cluster_id: str, payload: CopyAsked) -> CopyPlan:
    """What would be read and what is to be known, by the offsets of this moment; nothing is copied. The copy: `POST /jobs` with the same
    fields and the kind `record_copy`. Who does not see all of the source's records is refused."""
    return plan_copy(request.auth, queries.cluster_of(cluster_id), payload.model_dump())
