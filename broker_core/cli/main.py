"""Arguments of the commands for what runs on this machine, and what each of them calls; the others are in `cli`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from broker_core.cli import system, up
from broker_core.cli.tokens import make_token
from broker_core.errors import HighwaterError
from broker_core.local import control, spark_installer
from broker_core.local.layout import Layout

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
ACTIONS: dict[str, Callable[[Path, int], None]] = {
    "start": control.start_broker,
    "stop": control.stop_broker,
    "restart": control.restart_broker,
    "kill": control.kill_broker,
    "pause": control.pause_broker,
    "resume": control.resume_broker,
}
DONE = {"start": "started", "stop": "stopped", "restart": "restarted", "kill": "killed", "pause": "paused", "resume": "resumed"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; 1 and a sentence on stderr when it fails."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except HighwaterError as error:
        print(f"highwater: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser, commands = new_parser()
    add(commands)
    return parser


def new_parser() -> tuple[argparse.ArgumentParser, Commands]:
    """The parser, and what commands are added to."""
    parser = argparse.ArgumentParser(prog="highwater", description="A Kafka-protocol cluster in Python with a live console.")
    default = os.environ.get("HIGHWATER_DATA") or str(system.ROOT / "data")
    parser.add_argument("--data", type=Path, default=Path(default), help="data folder (default: $HIGHWATER_DATA, else ./data)")
    return parser, parser.add_subparsers(required=True, metavar="command")


def add(commands: Commands) -> None:
    """The commands of what runs on this machine."""
    _cluster_commands(commands)
    _broker_commands(commands)
    _token_commands(commands)
    whole = commands.add_parser("up", help="the whole system in the foreground; Ctrl-C stops it")
    whole.add_argument("--no-demo", action="store_true", help="without demo traffic")
    whole.set_defaults(run=lambda o: up.run(o.data, demo=not o.no_demo))
    spark = commands.add_parser("spark", help="install what analyses need (PySpark, the jars of its Kafka source), or try again")
    spark.set_defaults(run=lambda o: spark_installer.main())
    commands.add_parser("down", help="stop everything that runs from the data folder").set_defaults(run=lambda o: up.down(o.data))


def _cluster_commands(commands: Commands) -> None:
    cluster = commands.add_parser("cluster", help="ZooKeeper and the three brokers").add_subparsers(required=True, metavar="action")
    cluster.add_parser("up", help="start what does not run").set_defaults(run=lambda o: control.cluster_up(o.data, up.say))
    cluster.add_parser("down", help="stop brokers (paused ones too) and ZooKeeper").set_defaults(
        run=lambda o: control.cluster_down(o.data, up.say)
    )
    status = cluster.add_parser("status", help="what runs")
    status.add_argument("--json", action="store_true")
    status.set_defaults(run=_status)


def _broker_commands(commands: Commands) -> None:
    actions = commands.add_parser("broker", help="one broker").add_subparsers(required=True, metavar="action")
    for name in ACTIONS:
        action = actions.add_parser(name)
        action.add_argument("id", type=int)
        action.add_argument("--json", action="store_true")
        action.set_defaults(run=_broker_action, action=name)


def _token_commands(commands: Commands) -> None:
    tokens = commands.add_parser("token", help="API tokens").add_subparsers(required=True, metavar="action")
    create = tokens.add_parser("create", help="make one and print it, once")
    create.add_argument("name")
    create.add_argument("--role", required=True, choices=("viewer", "operator", "admin"))
    create.add_argument("--days", type=int, help="until it expires (the console's default is 90, the most 366)")
    create.add_argument("--save", action="store_true", help="keep it in the data folder, for the commands of this machine")
    create.add_argument("--json", action="store_true")
    create.set_defaults(run=_token_create)


def _status(options: argparse.Namespace) -> int:
    found = control.status(options.data)
    if options.json:
        print(json.dumps(found))
        return 0
    for name in ("zookeeper", "redis"):
        print(f"{name:<10} {found[name]['state']:<9} port {found[name]['port']}")
    for broker in found["brokers"]:
        pid = f"  pid {broker['pid']}" if broker["pid"] else ""
        print(f"broker {broker['broker_id']:<3} {broker['state']:<9} port {broker['port']}{pid}")
    return 0


def _broker_action(options: argparse.Namespace) -> int:
    ACTIONS[options.action](options.data, options.id)
    if options.json:
        print(json.dumps({"broker_id": options.id, "action": options.action, "done": True}))
    else:
        print(f"broker {options.id} {DONE[options.action]}")
    return 0


def _token_create(options: argparse.Namespace) -> int:
    layout = Layout.from_environment(options.data)
    layout.prepare()
    made = make_token(layout, options.name, options.role, options.days, save=options.save)
    print(json.dumps({"name": options.name, "role": options.role, "token": made.token}) if options.json else made.words)
    return 0


if __name__ == "__main__":
    sys.exit(main())
