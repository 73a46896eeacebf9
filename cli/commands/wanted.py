"""`highwater apply FOLDER`: the YAML files of a folder say how the cluster is to be; what differs is shown, and mended once confirmed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cli import figures as say
from cli.errors import Problem, Stopped, Usage
from cli.rest import named
from cli.shell import Shell, verb
from cli.table import Column, plain, table, terminal_columns
from cli.watching import awaited

ROUNDS = 20
"""Of mending one object: a job moves 1000 partitions at most."""
FILES_MAX, BYTES_MAX = 1_000, 5_000_000
SUFFIXES = (".yaml", ".yml")
MENDED = ("missing", "differs")
PAGE = SHOWN = 1_000
SIGNS = {"missing": "+", "differs": "~", "impossible": "!", "unmanaged": "?"}
CHANGES = (
    Column("", lambda c: ""),
    Column("WHAT", lambda c: c["label"]),
    Column("NOW", lambda c: say.text(c["before"])),
    Column("THEN", lambda c: say.text(c["after"])),
)


def add(commands: Any) -> None:
    apply = verb(commands, "apply", _apply, "make the cluster as the YAML files of a folder want it", changes=True)
    apply.add_argument("folder", type=Path, help="its *.yaml and *.yml files, those of folders in it too; a single file will do")
    apply.add_argument("--prune", action="append", default=[], metavar="TOPIC", help="delete this topic, which no file wants; repeatable")


def _apply(shell: Shell) -> None:
    o = shell.options
    files = read_folder(o.folder)
    plan = _planned(shell, files)
    of_topics = (drift for drift in plan["drifts"] if drift["state"] == "unmanaged" and drift["object"].startswith("topic/"))
    unwanted = {drift["object"].removeprefix("topic/") for drift in of_topics}
    if wrong := [name for name in o.prune if name not in unwanted]:
        raise Usage(f"--prune {wrong[0]}: that is not a topic which is there and which no file wants.")
    if o.dry_run:
        shell.show(plan, lambda: f"{told(plan, o.prune)}\nNothing was done: this is a dry run.")
        return
    if not o.json:
        print(told(plan, o.prune), flush=True)
    todo = [drift for drift in plan["drifts"] if drift["state"] in MENDED]
    if todo or o.prune:
        risks = f"{plan['at_risk']} of them at some risk"
        shell.confirm(o.cluster, f"{len(todo)} objects would be changed, {risks}, {len(o.prune)} topics deleted.")
    shell.rest.change("PUT", shell.at("wanted"), {"files": files}, limit=1)
    failed = [words for drift in todo if (words := _mend(shell, drift))]
    _prune(shell)
    _finish(shell, failed)


def _planned(shell: Shell, files: dict[str, str]) -> dict[str, Any]:
    """What would be done, with every object in `drifts`: asked for page by page, and told as the last page counts it."""
    drifts: list[dict[str, Any]] = []
    cursor = None
    while True:
        plan = shell.rest.change("PUT", shell.at("wanted"), {"files": files, "dry_run": True}, limit=PAGE, cursor=cursor)
        drifts += plan["drifts"]
        cursor = plan.pop("next")
        if cursor is None:
            return {**plan, "drifts": drifts, "total": len(drifts)}


def read_folder(folder: Path) -> dict[str, str]:
    """Texts by path in the folder. What begins with a dot (`.git`) is left out, and links are not followed."""
    found: dict[str, str] = {}
    size = 0
    for path in _yaml_files(folder):
        if len(found) == FILES_MAX:
            raise Usage(f"{folder} has more than {FILES_MAX} YAML files.")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Usage(f"{path} cannot be read: {error}.") from None
        size += len(text.encode())
        if size > BYTES_MAX:
            raise Usage(f"The YAML files of {folder} are larger than 5 MB together.")
        found[str(path.relative_to(folder)) if path != folder else path.name] = text
    if not found:
        raise Usage(f"There is no YAML file in {folder}.")
    return found


def _yaml_files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    for place, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and name.endswith(SUFFIXES) and path.is_file() and not path.is_symlink():
                yield path


def told(plan: dict[str, Any], prune: list[str]) -> str:
    """The difference in words: + is made, ~ changed, - deleted, ! cannot be, ? is there and nobody wants it. Of very many objects the
    first are told, and whatever could lose data or cannot be."""
    shown = [drift for number, drift in enumerate(plan["drifts"]) if number < SHOWN or drift["risks"] or drift["impossible"]]
    lines = [line for drift in shown for line in _drift_lines(drift, prune)]
    if rest := len(plan["drifts"]) - len(shown):
        lines.append(f"and {rest} more, none of them at risk: --dry-run --json has all")
    return "\n".join(lines) or "The cluster is as it is wanted."


def _drift_lines(drift: dict[str, Any], prune: list[str]) -> Iterator[str]:
    sign = "-" if drift["object"].removeprefix("topic/") in prune else SIGNS[drift["state"]]
    yield plain(f"{sign} {drift['sentence']}" + (f"  ({drift['place']})" if drift["place"] else ""))
    if drift["changes"]:
        yield table(CHANGES, drift["changes"], terminal_columns())
    yield from (plain(f"    RISK: {risk}") for risk in drift["risks"])
    yield from (plain(f"    CANNOT BE: {words}") for words in drift["impossible"])


def _mend(shell: Shell, drift: dict[str, Any]) -> str:
    """What went wrong with the object, if anything did: the others go on."""
    asked = {"object": drift["object"], "confirm": True}
    try:
        done = shell.rest.change("POST", shell.at("wanted", "mend"), {**asked, "seen": drift["seen"]})
        for _ in range(ROUNDS):
            if done["drift"] is None:
                break
            for number in done["jobs"]:
                awaited(shell, shell.rest.get(named("jobs", number)))
            left = shell.rest.change("POST", shell.at("wanted", "mend"), {**asked, "confirm": False, "dry_run": True})
            if left["drift"] is None or left["drift"]["state"] not in MENDED:
                break
            done = shell.rest.change("POST", shell.at("wanted", "mend"), asked)
    except (Problem, Stopped) as error:
        shell.say(f"{drift['object']}: {error}")
        return str(drift["object"])
    if not shell.options.json:
        end = "is mended as far as can be" if drift["impossible"] else "is as it is wanted"
        print(plain(f"{drift['object']} {end}."), flush=True)
    return ""


def _prune(shell: Shell) -> None:
    for name in shell.options.prune:
        shell.rest.change("DELETE", shell.at("topics", name))
        if not shell.options.json:
            print(plain(f"Topic {name} is deleted."))


def _finish(shell: Shell, failed: list[str]) -> None:
    """What differs still, as the cluster is seen now; whoever applies again does only that."""
    rest = _planned(shell, read_folder(shell.options.folder))
    left = [drift for drift in rest["drifts"] if drift["state"] != "unmanaged"]
    still = f"{len(left)} objects differ still:\n{told({'drifts': left}, [])}"
    shell.show(rest, still if left else "The cluster is as it is wanted.")
    if failed:
        raise Stopped(f"{len(failed)} objects could not be mended: apply again to go on with them.")
