"""The verdict as one HTML page that needs nothing else: styles, script and pictures are in it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.claims.causes import CAUSES, Cause
from experiments.report.loading import Gallery, Picture
from experiments.report.markdown import SYMBOLS
from experiments.report.paper import READINGS, SPECIFICATIONS, TITLE, WORTH
from experiments.report.report import gather
from kgl._optional import import_optional

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["render"]

_HERE = Path(__file__).resolve().parent


def render(
    gallery: Gallery, causes: Mapping[str, Cause] | None = None, *, strict: bool = False
) -> str:
    """Return the verdict as HTML; the parameters are those of the Markdown."""
    jinja2 = import_optional("jinja2", "workflow", "the report page")
    report = gather(gallery, CAUSES if causes is None else causes, strict=strict)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.jinja").render(
        report=report,
        paper=TITLE,
        default=report.default,
        readings=READINGS,
        specifications=SPECIFICATIONS,
        worth=WORTH,
        symbols=SYMBOLS,
        slug=lambda name: name.replace(" ", "-"),
        source=_source,
        style=_inline("page.css"),
        script=_inline("page.js"),
    )


def _source(picture: Picture) -> str:
    """Return a picture as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(picture.path.read_bytes()).decode('ascii')}"


def _inline(name: str) -> Markup:
    """Return a file of our own that is not to be escaped."""
    from markupsafe import Markup

    return Markup((_HERE / name).read_text(encoding="utf-8"))
