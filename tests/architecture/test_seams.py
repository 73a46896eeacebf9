"""Below `server/` the broker reaches the world only through its node: what no seed controls is not called there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parent.parent.parent
ROOT = TREE / "broker_core"
TWIN = TREE / "tests" / "support" / "memory_store"
"""The simulator's ZooKeeper, which a seed must control as it does the broker."""
SHELLS = ("server/", "local/", "cli/", "coordination/zookeeper", "__main__.py")
BANNED_MODULES = {
    "time",
    "random",
    "threading",
    "multiprocessing",
    "concurrent.futures",
    "subprocess",
    "socket",
    "secrets",
    "tempfile",
    "shutil",
    "signal",
}
BANNED_CALLS = {
    *(f"asyncio.{name}" for name in ("sleep", "wait", "wait_for", "timeout", "gather", "TaskGroup", "to_thread", "open_connection")),
    *(f"asyncio.{name}" for name in ("start_server", "create_task", "ensure_future", "as_completed", "get_event_loop")),
    *(f"datetime.{name}" for name in ("now", "utcnow", "today")),
    *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
    *(f"uuid.{name}" for name in ("uuid1", "uuid4")),
    "open",
    "os.urandom",
    "run_in_executor",
}
ALLOWED_OS = {"os.PathLike", "os.fspath"}


def sources() -> list[Path]:
    ours = [path for path in sorted(ROOT.rglob("*.py")) if not str(path.relative_to(ROOT)).startswith(SHELLS)]
    return ours + sorted(TWIN.glob("*.py"))


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def offences(tree: ast.Module) -> Iterator[str]:
    """Each banned import, call or set iteration with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (f"{node.lineno}: import {a.name}" for a in node.names if a.name in BANNED_MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in BANNED_MODULES:
            yield f"{node.lineno}: from {node.module} import …"
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in BANNED_CALLS or name.endswith(".run_in_executor") or (name.startswith("os.") and name not in ALLOWED_OS):
                yield f"{node.lineno}: {name}()"
        elif (isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Set | ast.SetComp)) or (
            isinstance(node, ast.For | ast.comprehension)
            and isinstance(node.iter, ast.Call)
            and dotted(node.iter.func) in ("set", "frozenset")
        ):
            yield f"{node.iter.lineno}: iterates over a set"


def mutable_state(tree: ast.Module) -> Iterator[str]:
    """Module-level names in lower case bound to something that can change: state that outlives a node."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in targets:
            if (
                isinstance(target, ast.Name)
                and target.id.islower()
                and not target.id.startswith("__")
                and isinstance(node.value, ast.Dict | ast.List | ast.Set)
            ):
                yield f"{node.lineno}: {target.id}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(TREE)))
def test_the_world_is_reached_through_the_node(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert list(offences(tree)) == []
    assert list(mutable_state(tree)) == []


@pytest.mark.parametrize(
    "code",
    [
        "import time",
        "from random import choice",
        "asyncio.sleep(1)",
        "open('x')",
        "os.rename('a', 'b')",
        "for x in {1, 2}: pass",
        "[x for x in set(y)]",
        "loop.run_in_executor(None, f)",
        "datetime.now()",
    ],
)
def test_the_check_finds_what_it_bans(code: str) -> None:
    assert list(offences(ast.parse(code)))
