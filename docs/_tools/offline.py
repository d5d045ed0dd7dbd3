"""Fails when a built page would load anything from a network: python docs/_tools/offline.py docs/_build/html"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# What a browser fetches by itself; a link that a reader may click is none of it.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc\s*=\s*["']?(?:https?:)?//[^\s"'>]+"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|author))[^>]*\bhref\s*=\s*["']?(?:https?:)?//[^\s"'>]+"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^\s"')]+|\burl\(\s*["']?(?:https?:)?//[^\s"')]+""",
    re.IGNORECASE,
)


def fetched(text: str) -> list[str]:
    """Everything in a page or a style sheet that would be loaded from elsewhere."""
    return FETCHED.findall(text)


def main(folder: str) -> int:
    """Look at all pages and style sheets of a folder."""
    paths = sorted(p for p in Path(folder).rglob("*") if p.suffix in (".html", ".css"))
    found = [f"{path}: {what}" for path in paths for what in fetched(path.read_text(encoding="utf-8"))]
    print("\n".join(found) or f"{len(paths)} pages and style sheets load nothing from a network")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
