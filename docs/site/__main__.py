"""Makes the site, in docs/_build/html: python -m docs.site

Its pages are docs/, the executed notebooks, the tables of figures/, and what the code says. The
network is not used. Sphinx comes with the extra `docs`.
"""

import shutil
import sys
from pathlib import Path

from docs.site.api import api_as_markdown, tables_as_markdown
from docs.site.check import find_faults
from docs.site.log import log_as_markdown
from docs.site.reproduce import reproduce_as_markdown
from docs.site.sources import lay_pages
from ircotlib.files.extras import need
from ircotlib.files.paths import ROOT

HERE = Path(__file__).parent


def lay(folder: Path) -> None:
    """Write the sources of all pages into a folder that is not there yet."""
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("[!c]*.py", "ch*", "__*"))
    (folder / "code").mkdir()
    lay_pages(folder)
    written = {"api": api_as_markdown, "tables": tables_as_markdown}
    written |= {"log": log_as_markdown, "reproduce": reproduce_as_markdown}
    for name, write in written.items():
        (folder / f"{name}.md").write_text(write(), encoding="utf-8")


def build(sources: Path, html: Path) -> list[str]:
    """Make the site, and return what is wrong with its links. RuntimeError after a warning of
    Sphinx, which it has written on stderr.
    """
    need("sphinx", "docs")
    from sphinx.cmd.build import main as run_sphinx

    if run_sphinx(["-q", "-E", "-W", "--keep-going", str(sources), str(html)]):
        raise RuntimeError("found warnings of Sphinx, expected none")
    return find_faults(html)


def main() -> None:
    folder = ROOT / "docs" / "_build"
    shutil.rmtree(folder, ignore_errors=True)
    lay(folder / "sources")
    if faults := build(folder / "sources", folder / "html"):
        sys.exit("\n".join(faults))
    print(folder / "html" / "index.html")


if __name__ == "__main__":
    main()
