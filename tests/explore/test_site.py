"""The site of `make docs`: its first page, and the titles that its search lists."""

import json
import re
import subprocess
import sys

import pytest

from ircotlib.files import ROOT

pytest.importorskip("sphinx", reason="needs sphinx: pip install -e '.[docs]'")


def test_the_first_page_leads_to_the_readme_and_the_search_has_titles(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-q", "-c", "docs/site", ".", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True)
    [first] = re.findall('url=(.*?)"', (tmp_path / "index.html").read_text())
    assert first == "README.html" and (tmp_path / first).is_file()
    text = (tmp_path / "searchindex.js").read_text()
    titles = json.loads(text[text.index("{") : text.rindex("}") + 1])["titles"]
    assert "ircot_table1" in titles and "<no title>" not in titles
