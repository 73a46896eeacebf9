"""What every kind of job declares. A kind is a class in a file of this package that gives `name`; `registry.py` finds it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from broker_core.contract.live import Cluster
from console.errors import Invalid

Name = Annotated[str, Field(min_length=1, max_length=249)]
Id = Annotated[int, Field(strict=True, ge=0, lt=2**31)]


class Parameters(BaseModel):
    """What REST takes for a kind. Each field may be left out, as one type describes the jobs of all kinds."""

    model_config = ConfigDict(extra="forbid")


class Form(NamedTuple):
    """A form of the page of jobs; `link` is what leads to it."""

    name: str
    link: str

    @property
    def template(self) -> str:
        return f"parts/job_{self.name}.html"


class JobKind:
    """A kind with neither parameters nor a form, of which one at a time may be active; others say what they have of these."""

    name: ClassVar[str] = ""
    cancel_means: ClassVar[str]
    pause_means: ClassVar[str] = ""
    """What a pause means; empty where a job of the kind cannot be paused."""
    queue: ClassVar[str] = "jobs"
    """The workers' queue that takes its steps."""
    on_request: ClassVar[bool] = True
    """Whether people and programs may ask for one."""
    parameters: ClassVar[type[Parameters] | None] = None
    form: ClassVar[Form | None] = None
    question: ClassVar[str] = ""
    """What the form asks back before it starts one, where it does; what it means then are the `risks`."""
    names_brokers: ClassVar[bool] = False
    of_own_cluster: ClassVar[bool] = False
    """It rests on what is only there for the system's own cluster."""
    for_admins: ClassVar[bool] = False
    """Only admins may ask for one, as for what it does."""
    changes_cluster: ClassVar[bool] = True
    """What only looks may be asked for of a cluster that is read-only here, too."""

    @property
    def file(self) -> str:
        """The file that declares it here, and has its steps under `workers/kinds/`."""
        return type(self).__module__.rpartition(".")[2]

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What of `params` the kind knows, in its canonical form; `Invalid` names the field that is wrong."""
        return {}

    def of_form(self, fields: Mapping[str, str]) -> dict[str, Any]:
        """The parameters that were typed, as REST would have them."""
        return {}

    def topics(self, params: Mapping[str, Any]) -> Collection[str]:
        """The topics that checked parameters name."""
        return ()

    def absent(self, params: Mapping[str, Any], sizes: Mapping[str, int], online: Collection[int]) -> Invalid | None:
        """What is wrong with the first topic, partition or broker that is named and not there; `sizes` has the partitions by topic,
        `online` the brokers where `names_brokers`."""
        return None

    def parted(self, params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Checked parameters as everybody may see them, and what of them only the job's plan has."""
        return dict(params), {}

    def reads(self, params: Mapping[str, Any]) -> tuple[str, str] | None:
        """The topic whose records it reads, and the one that it brings them to: who does not see all of them may not ask for it."""
        return None

    def clash(self, params: Mapping[str, Any], other: int, state: str, theirs: Mapping[str, Any]) -> str:
        """Why it cannot begin beside an active job of its kind, with that one's number, state and parameters; empty where it can."""
        return f"Job {other} does the same and is {state}."

    def risks(self, params: Mapping[str, Any], cluster: Cluster | None) -> Sequence[str]:
        """What the form says with its `question`; `cluster` is None where nothing is known of it."""
        return ()
