"""Setting up: pyproject.toml, constraints.txt, environment.yml, Makefile and README agree, for each
Python that the README names.
"""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from ircotlib.files import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
OLDEST, NEWEST = map(int, re.search(r"with Python 3\.(\d+) to 3\.(\d+)", README).groups())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
PINS = [Requirement(line) for line in LINES if not line.startswith("#")]
# Debian 12 has 3.11.2, which lacks what some packages need
PYTHONS = [f"3.{minor}.0" for minor in range(OLDEST, NEWEST + 1)] + ["3.11.2", "3.12.3"]
SYSTEMS = [("linux", "x86_64", "posix"), ("darwin", "arm64", "posix"), ("win32", "AMD64", "nt")]


def environment(python: str, system: str, machine: str, kind: str) -> dict[str, str]:
    """What the markers of pins are compared with."""
    known = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    known |= {"sys_platform": system, "platform_machine": machine, "os_name": kind}
    return known | {"implementation_name": "cpython", "extra": ""}


def pins_for(python: str, *system: str) -> dict[str, Requirement]:
    """The pins of a Python by name; there is one of each package."""
    known = environment(python, *system)
    pins = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate(known)]
    assert len({pin.name for pin in pins}) == len(pins)
    return {canonicalize_name(pin.name): pin for pin in pins}


def needed() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    return [need for need in map(Requirement, lines) if need.name != PROJECT["name"]]


def test_every_python_of_the_readme_is_meant_everywhere():
    assert PROJECT["requires-python"] == f">=3.{OLDEST},<3.{NEWEST + 1}"
    [conda, _, pip] = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
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


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_fit_each_other_and_their_python_as_far_as_they_are_installed(python):
    """What is installed says what it needs: the pins of another Python may be other versions."""
    pins, known, compared = pins_for(python, *SYSTEMS[0]), environment(python, *SYSTEMS[0]), 0
    for name, pin in pins.items():
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        if not pin.specifier.contains(installed.version.partition("+")[0]):
            continue
        supported = SpecifierSet(installed.metadata.get("Requires-Python", ""))
        assert supported.contains(python), f"{pin} needs Python {supported}"
        for need in map(Requirement, installed.requires or ()):
            if need.marker is None or need.marker.evaluate(known):
                [version_needed] = pins[canonicalize_name(need.name)].specifier
                assert need.specifier.contains(version_needed.version), (pin, need)
                compared += 1
    assert compared > 100


def run_make(folder, *arguments: str, **own: str) -> subprocess.CompletedProcess:
    command = ["make", "--no-print-directory", "-f", str(ROOT / "Makefile"), *arguments]
    options = {"capture_output": True, "text": True, "check": False}
    # these tests may have been started by make, which would say so
    env = {name: value for name, value in os.environ.items() if "MAKE" not in name} | own
    return subprocess.run(command, cwd=folder, env=env, **options)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("sys.version_info = (3, 10, 12, 'final', 0)", "found Python 3.10, expected 3.11 to 3.14"),
        ("sys.version_info = (3, 15, 0, 'final', 0)", "found Python 3.15, expected 3.11 to 3.14"),
        ("sys.modules['ensurepip'] = None", "apt install python3-venv"),
    ],
)
def test_another_python_is_told_in_one_line_before_anything_is_made(code, words, tmp_path):
    """A program that runs this Python as if it were another one."""
    python, run, folder = (tmp_path / name for name in ("python", "run.py", "a folder"))
    folder.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).write_text("")
    run.write_text(f"import sys\n{code}\nexec(sys.argv[2])\n")
    python.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{run}' \"$@\"\n")  # may have spaces
    python.chmod(0o755)
    done = run_make(folder, "figures", PYTHON=str(python))
    line, ended = done.stderr.splitlines()
    assert words in line and ended.startswith("make: ***") and done.returncode == 2
    assert not (folder / ".venv").exists()
