"""The package itself: examples, stubs, imports."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import labelflow
from labelflow import _labelflow

MODULES = [
    module.name
    for module in pkgutil.walk_packages(labelflow.__path__, "labelflow.")
    if not module.name.endswith("._labelflow")
]
#: Modules that need what is not installed by default.
ENGINES = {"labelflow.spark": "pyspark", "labelflow.ray": "ray", "labelflow._batches.vote_counter": "pyarrow", "labelflow._batches.bad_rows": "pyarrow"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    if "._labeling_functions." in name:
        pytest.importorskip("pandas")
    if name in ENGINES:
        pytest.importorskip(ENGINES[name], reason=f"NOT RUN: {ENGINES[name]} is not installed; `make test-engines` installs it")
    outcome = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert outcome.failed == 0


def public_classes():
    return [getattr(labelflow, name) for name in labelflow.__all__ if inspect.isclass(getattr(labelflow, name))]


@pytest.mark.parametrize("cls", [c for c in public_classes() if hasattr(c, "fit")], ids=lambda c: c.__name__)
def test_every_parameter_is_documented(cls):
    documented = cls.__doc__
    for name in inspect.signature(cls.__init__).parameters:
        if name != "self":
            assert name in documented.split("Attributes")[0], f"{cls.__name__}.{name}"
    assert ">>> " in documented, "no example"


@pytest.mark.parametrize("cls", public_classes(), ids=lambda c: c.__name__)
def test_every_class_has_an_example(cls):
    if not issubclass(cls, Exception):
        assert "Examples\n" in cls.__doc__ and ">>> " in cls.__doc__


def test_stubs_are_up_to_date():
    from pathlib import Path

    stubs = Path(labelflow.__file__).with_name("_labelflow.pyi").read_text()
    namespace = {}
    exec(compile("from __future__ import annotations\n" + stubs, "_labelflow.pyi", "exec"), namespace)
    for name in (n for n in dir(_labelflow) if not n.startswith("__")):
        assert name in namespace, f"{name} is not in the stubs"
        real, stub = getattr(_labelflow, name), namespace[name]
        if inspect.isclass(real) and not issubclass(real, Exception):
            members = {n for n in vars(real) if not n.startswith("_")}
            assert members == {n for n in vars(stub) if not n.startswith("_")}, name
        elif callable(real) and not inspect.isclass(real):
            assert list(inspect.signature(real).parameters) == list(inspect.signature(stub).parameters), name
    assert Path(labelflow.__file__).with_name("py.typed").exists()


def in_fresh_python(program):
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return outcome.stdout.strip()


def test_import_is_light():
    # Processor time: what else the machine does is not the package's fault.
    program = (
        "import sys, time; start = time.process_time(); import labelflow; "
        "print(time.process_time() - start); "
        "print([m for m in ('sklearn', 'pandas', 'polars', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    runs = [in_fresh_python(program).splitlines() for _ in range(5)]
    assert all(others == "[]" for _, others in runs)
    assert min(float(seconds) for seconds, _ in runs) < 0.3
