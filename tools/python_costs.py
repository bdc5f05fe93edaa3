"""Measures the Python package: installed size, import time, and the time to read a million rows of votes.

    python tools/python_costs.py [snorkel=PYTHON] [crowd-kit=PYTHON] [cleanlab=PYTHON] …

Run by a Python that has labelflow, pandas and polars. Each further argument is a package and a Python that has it.
Sizes include all dependencies; times are the best of several, in fresh processes.
"""

import subprocess
import sys
import time

import numpy as np

import labelflow

MODULES = {"snorkel": "snorkel.labeling.model", "crowd-kit": "crowdkit.aggregation", "cleanlab": "cleanlab.multiannotator"}

SIZE = """
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
todo, seen, size = ["{name}"], set(), 0
while todo:
    name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
    if name in seen: continue
    seen.add(name)
    try: found = distribution(name)
    except PackageNotFoundError: continue
    places = {{found.locate_file(file) for file in found.files or []}}
    size += sum(Path(place).stat().st_size for place in places if Path(place).is_file())
    for line in found.requires or []:
        if "extra ==" not in line: todo.append(re.match(r"[\\w.-]+", line).group())
print(size)
"""

IMPORT = "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def answer(python: str, program: str) -> float:
    outcome = subprocess.run([python, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    return float(outcome.stdout)


def costs(peers: dict[str, str]) -> None:
    print("| package | installed with all it requires, MB | import, s |\n|---|---|---|")
    for name, python in {"labelflow": sys.executable, **peers}.items():
        size = answer(python, SIZE.format(name=name)) / 1e6
        program = IMPORT.format(module=MODULES.get(name, name))
        seconds = min(answer(python, program) for _ in range(5))
        print(f"| {name} | {size:.0f} | {seconds:.2f} |")


def best(work, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def entrances() -> None:
    import pandas
    import polars

    votes = np.random.default_rng(0).integers(-1, 4, size=(1_000_000, 10)).astype(np.int8)
    names = [f"rule{place}" for place in range(10)]
    forms = {
        "int8": votes,
        "int64": votes.astype(np.int64),
        "pandas, int8": pandas.DataFrame(votes, columns=names),
        "pandas, int64": pandas.DataFrame(votes.astype(np.int64), columns=names),
        "polars, int8": polars.DataFrame(votes, schema=names),
        "polars, int64": polars.DataFrame(votes.astype(np.int64), schema=names),
    }
    print("\n| votes (1,000,000, 10) | enter in, ms | copied |\n|---|---|---|")
    for name, form in forms.items():
        signals = labelflow.Signals(form)
        copied = signals._raw.address != votes.ctypes.data
        print(f"| {name} | {1e3 * best(lambda form=form: labelflow.Signals(form)):.1f} | {'once' if copied else 'no'} |")


if __name__ == "__main__":
    costs(dict(argument.split("=", 1) for argument in sys.argv[1:]))
    entrances()
