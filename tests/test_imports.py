"""What is imported when: the core is light, and a replay of calls needs no torch."""

import pytest

import ircotlib
from tests.processes import run_python

MODELS = ["torch", "transformers", "elasticsearch"]
HEAVY = [*MODELS, *"pandas matplotlib seaborn scipy tantivy IPython nbformat".split()]
CORE = "data text metrics program errors engine.cache engine.scheduler systems datasets"
CORE += " prompting.prompt prompting.demonstrations options __main__ command.figures"
# programs that use torch, but import it only once their options are read
TRAININGS = ["t5", "agent", "reader"]
# what the extras bring, as `import` names it
EXTRAS = [*MODELS, *"IPython ipywidgets anywidget papermill jupyterlab openai".split()]
PLAIN = f"""
import runpy, sys
sys.modules |= dict.fromkeys({[*EXTRAS, "ray", "sentence_transformers"]})
"""

SERVED = "'--set=server=http://h:9', '--set=model=x'"
REPLAY = """
import sys
from ircotlib.experiment.setup import open_setup
from ircotlib.parameters import read_parameters
from ircotlib.experiment.compare import run_system
from ircotlib.systems import all_systems
changes = {"model": "data/models/mini-base", "dev": 0, "test": 1, "workers": 1}
setup = open_setup(read_parameters("mini", changes), "musique", "try")
run_system(setup, all_systems()["IRCoT QA"], k=2, m=1)
print([n for n in ("torch", "transformers", "elasticsearch") if n in sys.modules])
"""


def run(code: str, **variables: str) -> str:
    done = run_python("-c", code, IRCOT_BATCH="1", **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ([f"ircotlib.{name}" for name in CORE.split()], HEAVY),
        (["ircotlib.models.local"], [*HEAVY, "numpy"]),
        ([f"training.{name}" for name in TRAININGS], HEAVY),
    ],
    ids=["core", "models", "trainings"],
)
def test_what_is_imported_is_light(modules, absent):
    code = f"import sys, {', '.join(modules)}; print({{*{absent}}} & {{*sys.modules}})"
    assert run(code) == "set()"


def test_a_model_is_imported_only_for_replies_that_are_not_in_the_cache(tmp_path):
    assert "torch" in run(REPLAY, IRCOT_DATA=str(tmp_path))
    assert run(REPLAY, IRCOT_DATA=str(tmp_path)) == "[]"


def test_a_plain_installation_has_every_name_of_the_front_door():
    code = "import ircotlib, ircotlib.explore.report\n"
    code += "print([getattr(ircotlib, name) for name in ircotlib.__all__] != [])"
    assert run(PLAIN + code) == "True"


@pytest.mark.parametrize(
    ("code", "package", "extra"),
    [
        ("from ircotlib.explore.box import explore_box", "anywidget", "lab"),
        ("command('figures', '--profile', 'quick')", "papermill", "lab"),
        ("command('ask', 'Who?')", "torch", "local"),
        (f"command('ask', 'Who?', {SERVED})", "openai", "server"),
    ],
)
def test_a_missing_package_is_one_line_with_its_extra(code, package, extra):
    define = "import ircotlib.__main__ as m\ncommand = lambda *of: sys.exit(m.main(of))"
    done = run_python("-c", f"{PLAIN}{define}\n{code}")
    message = f'{package} is not installed: pip install "ircotlib[{extra}]"'
    assert done.returncode == 1, done.stderr
    assert message in done.stderr.splitlines()[-1]


def test_only_the_front_door_is_listed():
    assert dir(ircotlib) == ircotlib.__all__ and len(dir(ircotlib)) <= 60
    assert {"ask", "compare", "Parameters"} < {*dir(ircotlib)}


def test_the_package_imports_nothing_until_a_name_is_used():
    modules = "[name for name in sys.modules if name.startswith('ircotlib.')]"
    assert run(f"import sys, ircotlib; print({modules})") == "[]"
    code = f"import sys; from ircotlib import Question; print({{*{HEAVY}}}"
    assert run(f"{code} & {{*sys.modules}})") == "set()"
