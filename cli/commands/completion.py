"""`highwater completion bash`: what a shell is told so that Tab completes commands, topics and groups."""

from __future__ import annotations

import argparse
from typing import Any

from argcomplete import shell_integration


def add(commands: Any) -> None:
    words = "for ~/.bashrc: source <(highwater completion bash)"
    parser = commands.add_parser("completion", help="completion for your shell", description=words)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(run=_print)


def _print(options: argparse.Namespace) -> None:
    shellcode: Any = shell_integration.shellcode
    print(shellcode(["highwater"], shell=options.shell))
