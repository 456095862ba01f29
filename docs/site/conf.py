"""Sphinx's settings for the site, whose source is the whole repository: make docs."""

from importlib.metadata import version as version_of

project = "ircotlib"
version = release = version_of("ircotlib")
extensions = ["myst_nb"]
root_doc = "docs/site/index"
include_patterns = ["*.md", "docs/**", "notebooks/*.ipynb", "prompts/*", "figures/*.md"]
exclude_patterns = ["docs/_build"]
nb_execution_mode = "off"  # notebooks are kept executed
nb_ipywidgets_js = {}  # no scripts from elsewhere
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # headings may skip a level
    "myst.xref_missing",  # links lead to files and folders, too
    "toc.not_included",
    "mystnb.unknown_mime_type",
    "misc.highlighting_failure",
]
html_extra_path = ["index.html"]  # leads to the README
html_theme = "furo"
html_title = f"ircotlib {version}"
html_show_sourcelink = html_copy_source = html_show_copyright = False


def add_title(app: object, page: str, source: list[str]) -> None:
    """Give a table of figures/ its name as a title, by which the search lists it."""
    if page.startswith("figures/"):
        source[0] = f"# {page.removeprefix('figures/')}\n\n{source[0]}"


def setup(app) -> None:
    app.connect("source-read", add_title)
