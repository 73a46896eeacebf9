"""docs/settings.md: every variable that is read, no other, with the defaults that hold; and the console's own settings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from broker_core.local.layout import DEFAULT_PORTS
from console.rules.settings.of_console import KNOWN, Known

ROOT = Path(__file__).resolve().parent.parent.parent
CODE = ("broker_core", "cli", "console", "workers", "scripts")
VARIABLE = re.compile("HIGHWATER_|DATABASE_URL")
NAME = re.compile(r"(?<![A-Z_])HIGHWATER_[A-Z0-9_]*[A-Z0-9]")


def rows(heading: str) -> dict[str, list[str]]:
    """By the first cell the others, without backquotes, of the table under a heading."""
    text = (ROOT / "docs" / "settings.md").read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    assert len({row[0] for row in found}) == len(found), "a name stands there twice"
    return {row[0]: row[1:] for row in found}


def named_in_code() -> set[str]:
    """Each variable that a program names; a secret's file is told by a word of its row."""
    files = [path for folder in CODE for pattern in ("*.py", "*.sh") for path in (ROOT / folder).rglob(pattern)]
    found = {name for path in files for name in NAME.findall(path.read_text())}
    return found | {f"HIGHWATER_{name}_PORT" for name in DEFAULT_PORTS}


def calls() -> list[ast.Call]:
    """`env.<reader>(os.environ, "NAME", …)` anywhere in the console."""
    texts = [text for path in (ROOT / "console").rglob("*.py") if VARIABLE.search(text := path.read_text())]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and len(node.args) > 1]
    named = [node for node in nodes if VARIABLE.match(str(getattr(node.args[1], "value", "")))]
    return [node for node in named if ast.unparse(node.args[0]) in ("os.environ", "env")]


def test_the_page_has_each_variable_that_is_read_and_no_other() -> None:
    told = rows("From the environment")
    assert {name for name in told if name.startswith("HIGHWATER_")} == named_in_code()
    for name, cells in told.items():
        assert len(cells) == 3 and all(cells), name


def test_a_default_is_the_one_that_the_code_has() -> None:
    told = rows("From the environment")
    looked_at = set()
    for call in calls():
        name, more = str(call.args[1].value), [*call.args[2:], *(word.value for word in call.keywords)]  # type: ignore[attr-defined]
        if more and isinstance(more[0], ast.Constant) and more[0].value not in ("", None):
            default = more[0].value
            looked_at.add(name)
            assert told[name][0] == str(int(default) if isinstance(default, bool) else default), name
    assert len(looked_at) > 10
    for name, port in DEFAULT_PORTS.items():
        assert told[f"HIGHWATER_{name}_PORT"][0] == str(port)


def test_what_may_be_in_a_file_is_marked() -> None:
    told = rows("From the environment")
    secrets = {str(call.args[1].value) for call in calls() if getattr(call.func, "attr", getattr(call.func, "id", "")) == "secret"}  # type: ignore[attr-defined]
    assert {name for name, cells in told.items() if cells[1].endswith(("; *file*",))} == secrets


def test_the_console_s_own_settings_are_as_its_page_has_them() -> None:
    kept = {name: [one.default, one.doc, _range(one), one.variable] for name, one in KNOWN.items()}
    assert rows("The console's own page") == kept


def _range(setting: Known) -> str:
    if setting.choices:
        return ", ".join(setting.choices)
    return f"{setting.least} to {setting.most}" if setting.most else "no"
