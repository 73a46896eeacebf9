"""What is said of Spark's installation, which goes on in the background while the cluster runs already."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

InstallState = Literal["absent", "installing", "failed", "ready"]
InstallStep = Literal["packages", "jars"]


class Install(Struct, frozen=True, kw_only=True):
    """`since_ms`: when it began, since the epoch; `total_bytes` is 0 while the size of the download is not known. `why` it failed."""

    state: InstallState
    step: InstallStep = "packages"
    since_ms: int = 0
    done_bytes: int = 0
    total_bytes: int = 0
    why: str = ""
