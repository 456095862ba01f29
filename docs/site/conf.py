"""Sphinx's settings for the site; docs/site/__main__.py lays its sources and starts it."""

import re
from importlib.metadata import version as version_of

project = "ircotlib"
author = "The authors of ircotlib"
version = release = version_of("ircotlib")
extensions = ["myst_nb", "sphinx_design", "sphinx.ext.autodoc"]
exclude_patterns = ["code"]
nb_execution_mode = "off"  # notebooks are kept executed
nb_ipywidgets_js = {}  # no scripts from elsewhere
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# headings may skip a level; a plug-in's JSON lines have no lexer
suppress_warnings = ["myst.header", "misc.highlighting_failure", "mystnb.unknown_mime_type"]
default_role = "code"  # docstrings are written with single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True  # as they are written, not the paths of this machine
html_theme = "furo"
html_title = f"ircotlib {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = html_copy_source = html_show_copyright = False
html_show_search_summary = False  # a browser fetches no page from a disk
html_extra_path = ["code"]
html_theme_options = {"source_view_link": ""}


def escape_docstring(app, kind, name, thing, options, lines: list[str]) -> None:
    """Docstrings are prose, not reStructuredText: what would be markup there is a sign."""
    for place, line in enumerate(lines):
        lines[place] = re.sub(r"([*|]|(?<=\w)_(?!\w))", r"\\\1", line)


def setup(app) -> None:
    app.connect("autodoc-process-docstring", escape_docstring)
