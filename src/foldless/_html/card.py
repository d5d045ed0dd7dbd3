"""The layout of a result on a page: title, the figure, the picture, facts, and what the reader must know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

# Only inherited colours and half-transparent greys: the card takes the page's colours, light or dark.
RULE = "rgba(128,128,128,0.4)"
ALERT = "#d97706"
FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:13px;line-height:1.45"
FRAME = f"{FONT};color:inherit;border:1px solid {RULE};border-radius:6px;padding:10px 14px;max-width:600px"
NOTE = f"border-left:3px solid {ALERT};padding:1px 0 1px 9px;margin-top:7px;overflow-wrap:anywhere"
ROW = "display:flex;flex-wrap:wrap;gap:6px 24px;align-items:flex-start"
FACTS = "display:grid;grid-template-columns:max-content minmax(0,1fr);gap:1px 14px"


def card(
    title: str,
    figure: str,
    facts: Mapping[str, str],
    *,
    picture: str = "",
    notes: Iterable[str] = (),
    remark: str = "",
) -> str:
    """One result as HTML. Every text is escaped here; `picture` is markup from `svg`.

    Examples
    --------
    >>> "1 &lt; 2" in card("AUC", "0.9", {"fact": "1 < 2"})
    True
    """
    parts = [
        f'<div style="font-weight:600">{escape(title)}</div>',
        f'<div style="font-size:17px;margin:2px 0 6px">{escape(figure)}</div>',
        f'<div style="{ROW}">{_picture(picture)}<div style="flex:1 1 250px;min-width:0">{_facts(facts)}</div></div>',
        *(_note(note) for note in dict.fromkeys(notes)),
        f'<div style="margin-top:6px;opacity:0.75">{escape(remark)}</div>' if remark else "",
    ]
    return f'<div class="foldless" style="{FRAME}">{"".join(parts)}</div>'


def _picture(markup: str) -> str:
    return f'<div style="flex:none;max-width:100%">{markup}</div>' if markup else ""


def _facts(facts: Mapping[str, str]) -> str:
    cells = "".join(
        f'<div style="opacity:0.75">{escape(name)}</div><div style="overflow-wrap:anywhere">{escape(value)}</div>'
        for name, value in facts.items()
    )
    return f'<div style="{FACTS}">{cells}</div>'


def _note(note: str) -> str:
    return f'<div style="{NOTE}"><b>Note:</b> {escape(note)}</div>'
