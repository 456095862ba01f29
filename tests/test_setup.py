"""Setting up: all files agree for each Python that the README names."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ircotlib.files import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
VERSIONS = re.search(r"with Python 3\.(\d+) to 3\.(\d+)", README)
OLDEST, NEWEST = map(int, VERSIONS.groups())
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]
LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
PINS = [Requirement(line) for line in LINES if not line.startswith("#")]
# Debian 12 has 3.11.2, which lacks what some packages need
PYTHONS = [f"3.{minor}.0" for minor in range(OLDEST, NEWEST + 1)] + ["3.11.2", "3.12.3"]
LINUX = ("linux", "x86_64", "posix")
SYSTEMS = [LINUX, ("darwin", "arm64", "posix"), ("win32", "AMD64", "nt")]


def environment(python: str, system: str, machine: str, kind: str) -> dict[str, str]:
    """The values that the markers of pins are compared with."""
    return {
        "python_full_version": python,
        "python_version": python.rpartition(".")[0],
        "sys_platform": system,
        "platform_machine": machine,
        "os_name": kind,
        "implementation_name": "cpython",
        "extra": "",
    }


def pins_for(python: str, *system: str) -> dict[str, Requirement]:
    """The pins of a Python by name; there is one of each package."""
    values = environment(python, *system)
    pins = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate(values)]
    assert len({pin.name for pin in pins}) == len(pins)
    return {canonicalize_name(pin.name): pin for pin in pins}


def needed() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    return [need for need in map(Requirement, lines) if need.name != PROJECT["name"]]


def test_all_files_mean_every_python_of_the_readme():
    assert PROJECT["requires-python"] == f">=3.{OLDEST},<3.{NEWEST + 1}"
    conda_file = yaml.safe_load((ROOT / "environment.yml").read_text())
    [conda, _, pip] = conda_file["dependencies"]
    assert conda.partition("=")[2] in {python.rpartition(".")[0] for python in PYTHONS}
    assert pip == {"pip": ["--constraint constraints.txt", "--editable .[dev]"]}
    assert f"--python-version 3.{OLDEST} " in LINES[1]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"(3, {OLDEST}) <= sys.version_info < (3, {NEWEST + 1})" in makefile
    assert f"expected 3.{OLDEST} to 3.{NEWEST}:" in makefile


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system[0])
def test_the_pins_of_each_python_fit_what_the_project_needs(python, system):
    pins = pins_for(python, *system)
    for need in needed():
        [pin] = pins[canonicalize_name(need.name)].specifier
        assert pin.operator == "==" and need.specifier.contains(pin.version), need
