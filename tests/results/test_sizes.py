"""Every kind of figure can be printed: it is as wide as a column or a page, nothing sticks out, no
text is smaller than 7 points, and its marks say what they are.
"""

import re
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.legend import Legend
from matplotlib.text import Text

matplotlib.use("Agg")

from drawn import DRAWN, read

from ircotlib.files import paths
from ircotlib.results.figures import panels

ABOUT = "profile mini, model mini-xxl, n = 100 test questions a data set; what it was shown"
TEXTS = {"searchain_tree", "ircot_tuning"}  # no marks


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_made_for_print(name, tmp_path, monkeypatch):
    table = read(name)
    figure = DRAWN[name](table)
    monkeypatch.setattr(paths, "FIGURES", tmp_path)
    if name not in ("ircot_fig04_f1", "head_to_head"):  # two are enough for the files
        monkeypatch.setattr(panels, "MADE", {})
    panels.save_figure(figure, table, name, about=ABOUT)
    assert figure.get_figwidth() in (panels.COLUMN, panels.PAGE)
    assert figure.get_figheight() < 9.2  # a page's height
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 7
    assert max(text.get_fontsize() for text in texts) <= 9
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()  # in inches
    assert drawn.x0 > -0.03 and drawn.x1 < figure.get_figwidth() + 0.03
    assert drawn.y0 > -0.03 and drawn.y1 < figure.get_figheight() + 0.03
    [below] = [text for text in figure.texts if text.get_text().startswith("profile mini, model")]
    at = below.get_window_extent()
    assert not [x for x in figure.findobj(Legend) if at.overlaps(x.get_window_extent())]
    said = [artist.get_gid() for artist in figure.findobj(lambda artist: artist.get_gid())]
    assert name in TEXTS or any(text.startswith("title: ") for text in said)
    if panels.MADE:
        svg = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        root = ElementTree.fromstring(svg)
        assert float(root.get("width").removesuffix("pt")) == pytest.approx(72 * panels.PAGE)
        titles = re.findall("<title>(.*?)</title>", svg)
        assert {"IRCoT QA: 78.1 (75.3 to 81.0)", "IRCoT QA: 86.6 (79.6 to 92.7)"} & {*titles}
        pdf = (tmp_path / f"{name}.pdf").read_bytes()
        assert b"/Type3" not in pdf and b"/FontFile2" in pdf  # TrueType, inside
    pyplot.close("all")


def test_what_is_kept_for_the_web_is_small():
    made = [path for path in paths.FIGURES.glob("*.svg") if not path.stem.endswith("_quick")]
    assert sum(path.stat().st_size for path in made) < 2.4e6
