"""A hook of mkdocs: what a page links to outside of docs/ is no page of the site. It must be there, and is shown by its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = re.compile(r"\[([^\]]*)\]\((\.\./[^)#\s]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Raises where a file that is linked to is not there."""
    here = ROOT / "docs" / page.file.src_uri

    def named(found: re.Match[str]) -> str:
        target = (here.parent / found[2]).resolve()
        if target.is_relative_to(ROOT / "docs"):
            return found[0]
        if not target.exists():
            raise FileNotFoundError(f"docs/{page.file.src_uri} links to {found[2]}, which is not there")
        words = found[1].strip("`")
        path = target.relative_to(ROOT).as_posix()
        return f"`{path}`" if words == path else f"{words} (`{path}`)"

    return OUTSIDE.sub(named, markdown)
