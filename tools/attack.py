"""Misaligned tables: permuted rows, permuted and renamed columns, parts and keys, for each command and format.

    python tools/attack.py LABELFLOW            (make attack)

Every case changes the tables of a small problem and runs one command. The answer is right if it is that of the unchanged
tables, row by row; an error says that the tables do not fit. Everything else is a wrong answer, and the script fails.
The package `labelflow` must be installed, with numpy, pandas and pyarrow.
"""

from __future__ import annotations

import collections
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import labelflow

LABELFLOW = Path(sys.argv[1]).resolve()
FORMATS = ["csv", "tsv", "parquet"]
N_ROWS = 60
RNG = np.random.default_rng(7)


# ---------------------------------------------------------------------------------------------------------------------
# The problem


def problem() -> dict[str, pd.DataFrame]:
    """Features of different scales, votes of three labelers, true labels and true values; row numbers and names."""
    truth = np.arange(N_ROWS) % 2
    x = RNG.normal(size=(N_ROWS, 3)) * [1, 10, 100] + np.outer(truth, [2, -15, 80])
    votes = np.where(RNG.random((N_ROWS, 3)) < [0.9, 0.8, 0.7], truth[:, None], 1 - truth[:, None])
    votes[RNG.random((N_ROWS, 3)) < 0.2] = -1
    values = x @ [1.0, 0.1, 0.01]
    return {
        "features": pd.DataFrame(x, columns=["a", "b", "c"]),
        "signals": pd.DataFrame(votes, columns=["r1", "r2", "r3"]),
        "labels": pd.DataFrame({"label": truth}),
        "values": pd.DataFrame({"value": values}),
        "mask": pd.DataFrame({"label": (x[:, 0] > 1).astype(int)}),
    }


def keyed(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    """The frame with a first column that names its rows."""
    names = {"row": list(range(N_ROWS)), "id": [f"q{7 * row % 61}" for row in range(N_ROWS)]}
    frame = frame.copy()
    frame.insert(0, key, names[key])
    return frame


def write(frame: pd.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def write_parts(frame: pd.DataFrame, folder: Path, names: list[str], sizes: list[int]) -> Path:
    start = 0
    for name, size in zip(names, sizes):
        write(frame.iloc[start : start + size], folder / name)
        start += size
    return folder


# ---------------------------------------------------------------------------------------------------------------------
# Changes of a table with keys


def permuted(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[[7 * row % len(frame) for row in range(len(frame))]]


def reversed_rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[::-1]


def two_swapped(frame: pd.DataFrame) -> pd.DataFrame:
    order = list(range(len(frame)))
    order[3], order[4] = order[4], order[3]
    return frame.iloc[order]


def without_one(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(index=5)


def one_replaced_by_its_neighbour(frame: pd.DataFrame) -> pd.DataFrame:
    order = list(range(len(frame)))
    order[10] = 11
    return frame.iloc[order]


def one_doubled(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame, frame.iloc[[2]]])


def one_more(frame: pd.DataFrame) -> pd.DataFrame:
    more = frame.iloc[[0]].copy()
    more[frame.columns[0]] = 1000 if frame.columns[0] == "row" else "another"
    return pd.concat([more, frame])


def key_shifted(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that another tool counts from 1."""
    frame = frame.copy()
    key = frame.columns[0]
    frame[key] = frame[key] + 1 if key == "row" else "x" + frame[key]
    return frame


def key_missing_once(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.copy()
    key = frame.columns[0]
    frame[key] = frame[key].astype(object)
    frame.iloc[20, 0] = None
    return frame


def without_key(frame: pd.DataFrame) -> pd.DataFrame:
    return permuted(frame).drop(columns=frame.columns[0])


ROW_CHANGES = [
    permuted,
    reversed_rows,
    two_swapped,
    without_one,
    one_replaced_by_its_neighbour,
    one_doubled,
    one_more,
    key_shifted,
    key_missing_once,
]


# Changes of columns; those of named ones only.
COLUMN_CHANGES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "columns permuted": lambda frame: frame[frame.columns[::-1]],
    "columns rotated": lambda frame: frame[[*frame.columns[1:], frame.columns[0]]],
    "column renamed": lambda frame: frame.rename(columns={frame.columns[1]: "other"}),
    "all renamed": lambda frame: frame.rename(columns=lambda name: f"y{name}"),
    "renamed to x0": lambda frame: frame[frame.columns[::-1]].set_axis(["x0", "x1", "x2"], axis=1),
    "column left out": lambda frame: frame.drop(columns=frame.columns[1]),
    "column added": lambda frame: frame.assign(more=1)[["more", *frame.columns]],
    "case changed": lambda frame: frame.rename(columns=str.upper)[[name.upper() for name in frame.columns[::-1]]],
}


# ---------------------------------------------------------------------------------------------------------------------
# Cases


@dataclass
class Answer:
    """What a command gave: an error, or something to compare."""

    value: object
    error: str | None = None


class Attack:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables = problem()
        self.counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.wrong: list[str] = []
        self.number = 0

    def place(self) -> Path:
        """A new empty folder."""
        self.number += 1
        folder = self.folder / str(self.number)
        folder.mkdir()
        return folder

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(LABELFLOW), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def model(self, task: str = "classification", columns: list[str] | None = None) -> Path:
        """A trained model."""
        place = self.place()
        features = self.tables["features"]
        features = write(features.set_axis(columns or features.columns, axis=1), place / "features.csv")
        if task == "classification":
            votes = write(self.tables["signals"], place / "signals.csv")
            more = ["--signals", votes, "--bounds", 0.3, "--classes", "0,1"]
        else:
            first = (columns or ["a"])[0]
            rules = place / "rules.csv"
            rules.write_text(f"feature,threshold,above,below\n{first},1,4,0\n")
            more = ["--rules", rules, "--range", -10, 10]
        done = self.run("fit", "--features", features, *more, "--epochs", 30, "--out", place / "model")
        assert done.returncode == 0, done.stderr
        return place / "model"

    def judge(self, group: str, case: str, found: Answer, expected: Answer) -> None:
        if found.error is not None:
            kind = "error"
        elif same(found.value, expected.value):
            kind = "right"
        else:
            kind = "wrong"
            self.wrong.append(f"{group}: {case}: expected {short(expected.value)}, found {short(found.value)}")
        self.counts[group][kind] += 1

    def report(self) -> int:
        total: collections.Counter[str] = collections.Counter()
        print("| command | cases | right | error | wrong |\n|---|---|---|---|---|")
        for group, counts in [*self.counts.items()]:
            total += counts
            print(f"| {group} | {counts.total()} | {counts['right']} | {counts['error']} | {counts['wrong']} |")
        print(f"| all | {total.total()} | {total['right']} | {total['error']} | {total['wrong']} |")
        for wrong in self.wrong:
            print(f"wrong: {wrong}")
        return 1 if self.wrong else 0


def same(found: object, expected: object) -> bool:
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, np.ndarray):
        return np.shape(found) == expected.shape and np.allclose(found, expected, rtol=1e-9, equal_nan=True)
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return isinstance(found, float) and bool(np.isclose(found, expected, rtol=1e-9))
    return found == expected


def short(value: object) -> str:
    text = str(value).replace("\n", " ")
    return text if len(text) < 400 else text[:400] + "…"


def answer(done: subprocess.CompletedProcess[str], read: Callable[[], object]) -> Answer:
    if done.returncode == 2 and done.stderr.startswith(("labelflow: ", "error: ")):
        return Answer(None, done.stderr)
    if done.returncode != 0:
        return Answer(f"exit code {done.returncode}: {done.stderr}")
    return Answer(read())


def labels_by_key(path: Path, keys: list[object] | None = None) -> dict[str, object]:
    """Each row's label and probabilities, by its key; `keys` where the file has row numbers only."""
    frame = pd.read_csv(path)
    names = frame[frame.columns[0]] if keys is None else [keys[row] for row in frame["row"]]
    rest = frame.drop(columns=frame.columns[0])
    return {str(name): [str(cell) for cell in row] for name, row in zip(names, rest.itertuples(index=False))}


def metrics_of(path: Path) -> dict[str, object]:
    found = json.loads(path.read_text())
    found = found.get("metrics", found)
    # Which of equally certain rows are the surest depends on their order.
    return {name: value for name, value in found.items() if name not in ("warnings", "surest")}


# ---------------------------------------------------------------------------------------------------------------------
# Two tables whose rows belong together


def pairs(attack: Attack) -> None:
    """One of two tables is changed; rows are matched by `row` or by a key."""
    model, regressor = attack.model(), attack.model("regression")
    tables = attack.tables

    def eval_(features: Path, labels: Path, key: list[str]) -> Answer:
        out = features.parent / "metrics.json"
        return answer(
            attack.run("eval", model, "--features", features, "--labels", labels, "--json", out, *key),
            lambda: metrics_of(out),
        )

    def eval_values(features: Path, values: Path, key: list[str]) -> Answer:
        out = features.parent / "metrics.json"
        return answer(
            attack.run("eval", regressor, "--features", features, "--labels", values, "--json", out, *key),
            lambda: metrics_of(out),
        )

    def calibrate(features: Path, labels: Path, key: list[str]) -> Answer:
        copy = features.parent / "model"
        shutil.copytree(model, copy)
        out = features.parent / "found-labels.csv"
        plain = write(tables["features"], features.parent / "plain.csv")
        done = attack.run("calibrate", copy, "--features", features, "--labels", labels, "--method", "temperature", *key)
        if done.returncode == 0:
            done = attack.run("predict", copy, "--features", plain, "--out", out)
        return answer(done, lambda: labels_by_key(out))

    def label(signals: Path, labels: Path, key: list[str]) -> Answer:
        out, found = signals.parent / "found-labels.csv", signals.parent / "metrics.json"
        return answer(
            attack.run(
                "label", "--signals", signals, "--labels-for-eval", labels, "--out", out, "--json", found,
                "--model", "dawid-skene", *key,
            ),
            lambda: metrics_of(found),
        )

    def analyze(signals: Path, labels: Path, key: list[str]) -> Answer:
        out = signals.parent / "labelers.json"
        return answer(
            attack.run("analyze", "--signals", signals, "--labels", labels, "--json", out, *key),
            lambda: [(labeler["name"], labeler["accuracy"]) for labeler in json.loads(out.read_text())],
        )

    def report(predictions: Path, labels: Path, key: list[str]) -> Answer:
        out = predictions.parent / "page.html"
        done = attack.run("report", "--predictions", predictions, "--labels", labels, "--out", out, *key)
        return answer(done, lambda: figures_of(out))

    def agreement(features: Path, signals: Path, key: list[str]) -> Answer:
        out = features.parent / "found-labels.csv"
        done = attack.run("predict", model, "--features", features, "--signals", signals, "--out", out, *key)
        return answer(done, lambda: labels_by_key(out))

    def fit(features: Path, signals: Path, key: list[str]) -> Answer:
        place = features.parent
        plain, out = write(tables["features"], place / "plain.csv"), place / "found-labels.csv"
        done = attack.run(
            "fit", "--features", features, "--signals", signals, "--bounds", 0.3, "--classes", "0,1",
            "--epochs", 3, "--out", place / "model", *key,
        )
        if done.returncode == 0:
            done = attack.run("predict", place / "model", "--features", plain, "--out", out)
        return answer(done, lambda: labels_by_key(out))

    def fit_eval(features: Path, labels: Path, key: list[str]) -> Answer:
        place = features.parent
        votes = write(keyed(tables["signals"], "id" if key else "row"), place / "votes.csv")
        done = attack.run(
            "fit", "--features", features, "--signals", votes, "--bounds", 0.3, "--classes", "0,1", "--epochs", 3,
            "--labels-for-eval", labels, "--eval-every", 3, "--out", place / "model", *key,
        )
        return answer(done, lambda: json.loads((place / "model" / "evaluation.jsonl").read_text().splitlines()[-1]))

    def mask(features: Path, mask: Path, key: list[str]) -> Answer:
        place = features.parent
        rules = place / "rules.toml"
        rules.write_text(f"range = [-10, 10]\n[[rule]]\nrows = \"{mask.name}\"\nmean = 4\n[[rule]]\nall = true\nmean = 1\n")
        plain, out = write(tables["features"], place / "plain.csv"), place / "found-labels.csv"
        done = attack.run("fit", "--features", features, "--rules", rules, "--epochs", 3, "--out", place / "model", *key)
        if done.returncode == 0:
            done = attack.run("predict", place / "model", "--features", plain, "--out", out)
        return answer(done, lambda: labels_by_key(out))

    done = attack.place() / "found-labels.csv"
    attack.run("predict", model, "--features", write(tables["features"], done.parent / "f.csv"), "--out", done)
    predictions = pd.read_csv(done).drop(columns="row")
    tables = {**tables, "predictions": predictions}
    commands = [
        ("eval", eval_, "features", "labels"),
        ("eval (regression)", eval_values, "features", "values"),
        ("calibrate", calibrate, "features", "labels"),
        ("label --labels-for-eval", label, "signals", "labels"),
        ("analyze --labels", analyze, "signals", "labels"),
        ("report --predictions", report, "predictions", "labels"),
        ("predict --signals", agreement, "features", "signals"),
        ("fit", fit, "features", "signals"),
        ("fit --labels-for-eval", fit_eval, "features", "labels"),
        ("fit with a mask of rows", mask, "features", "mask"),
    ]
    for name, command, first, second in commands:
        for key in ("row", "id"):
            flag = ["--key", "id"] if key == "id" else []

            def both(kind: str, own: pd.DataFrame, other: pd.DataFrame) -> Answer:
                place = attack.place()
                return command(write(own, place / f"{first}.{kind}"), write(other, place / f"{second}.{kind}"), flag)

            own, other = keyed(tables[first], key), keyed(tables[second], key)
            expected = both("csv", own, other)
            assert expected.error is None, f"{name}: {expected.error}"
            for kind, change in itertools.product(FORMATS, ROW_CHANGES):
                attack.judge(name, f"{kind}, {key}, {second} {change.__name__}", both(kind, own, change(other)), expected)
            # The second table has no key, and its rows are in another order than the first one says.
            attack.judge(name, f"{key}, no key in {second}", both("csv", permuted(own), without_key(other)), Answer(None))
            if first != "predictions" and not name.startswith("fit") and name not in ("calibrate",):
                attack.judge(name, f"{key}, both permuted", both("csv", reversed_rows(own), permuted(other)), expected)


def figures_of(page: Path) -> object:
    """The accuracy that a report shows."""
    text = page.read_text()
    place = text.find("accuracy")
    assert place >= 0, "a page without an accuracy"
    return "".join(character for character in text[place : place + 120] if character in "0123456789.%")


# ---------------------------------------------------------------------------------------------------------------------
# Names of columns


def columns(attack: Attack) -> None:
    """Features by name, whatever their order; labelers of a fitted label model by name."""
    plain, signals = attack.tables["features"], attack.tables["signals"]
    for task, names in itertools.product(["classification", "regression"], [None, ["x1", "x0", "x2"]]):
        model = attack.model(task, names)
        features = plain.set_axis(names or plain.columns, axis=1)
        truth = attack.tables["labels" if task == "classification" else "values"]

        def predict(frame: pd.DataFrame, kind: str, parts: bool) -> Answer:
            place = attack.place()
            path = write(frame, place / f"features.{kind}")
            if parts:
                path = write_parts(frame, place / "features", ["part-0.parquet", "part-1.parquet"], [20, 40])
            out = place / "found-labels.csv"
            return answer(attack.run("predict", model, "--features", path, "--out", out), lambda: labels_by_key(out))

        def evaluate(frame: pd.DataFrame, kind: str) -> Answer:
            place = attack.place()
            path, labels = write(frame, place / f"features.{kind}"), write(truth, place / "truth.csv")
            out = place / "metrics.json"
            done = attack.run("eval", model, "--features", path, "--labels", labels, "--json", out)
            return answer(done, lambda: metrics_of(out))

        expected, metrics = predict(features, "csv", False), evaluate(features, "csv")
        assert expected.error is None and metrics.error is None, (expected.error, metrics.error)
        # A model of columns that are called x0, x1 and x2 must believe those names.
        changes = {case: change for case, change in COLUMN_CHANGES.items() if not (names and case == "renamed to x0")}
        for (case, change), kind in itertools.product(changes.items(), FORMATS):
            attack.judge("predict", f"{task}, {kind}, {case}", predict(change(features), kind, False), expected)
            attack.judge("eval, columns", f"{task}, {kind}, {case}", evaluate(change(features), kind), metrics)
        for case, change in changes.items():
            attack.judge("predict in parts", f"{task}, {case}", predict(change(features), "parquet", True), expected)
        # Arrays have no names: the width must fit.
        for width in (2, 3, 4):
            place = attack.place()
            values = np.hstack([features.to_numpy(), np.ones((N_ROWS, 1))])[:, :width].astype(np.float64)
            np.save(place / "features.npy", values)
            out = place / "found-labels.csv"
            done = attack.run("predict", model, "--features", place / "features.npy", "--out", out)
            attack.judge("predict", f"{task}, npy of {width} columns", answer(done, lambda: labels_by_key(out)), expected)

    place = attack.place()
    saved = place / "label-model.json"
    write(signals, place / "signals.csv")
    expected_file = place / "found-labels.csv"
    options = ["--model", "dawid-skene", "--classes", "0,1"]
    attack.run("label", "--signals", place / "signals.csv", *options, "--save", saved, "--out", expected_file)
    expected = Answer(labels_by_key(expected_file))
    for (case, change), kind, parts in itertools.product(COLUMN_CHANGES.items(), FORMATS, [False, True]):
        if parts and kind != "parquet":
            continue
        place = attack.place()
        frame = change(signals)
        path = write(frame, place / f"signals.{kind}")
        if parts:
            path = write_parts(frame, place / "signals", ["part-0.parquet", "part-1.parquet"], [20, 40])
        out = place / "found-labels.csv"
        done = attack.run("label", "--load", saved, "--signals", path, "--out", out)
        found = answer(done, lambda: labels_by_key(out))
        attack.judge("label --load" + (" in parts" if parts else ""), f"{kind}, {case}", found, expected)
    for width in (2, 3):
        place = attack.place()
        np.save(place / "signals.npy", signals.to_numpy()[:, :width])
        out = place / "found-labels.csv"
        done = attack.run("label", "--load", saved, "--signals", place / "signals.npy", "--out", out)
        attack.judge("label --load", f"npy of {width} columns", answer(done, lambda: labels_by_key(out)), expected)


# ---------------------------------------------------------------------------------------------------------------------
# Rows that keep their keys


def outputs(attack: Attack) -> None:
    """Labels have the keys of their rows, whatever the order."""
    model, regressor = attack.model(), attack.model("regression")
    features, signals = attack.tables["features"], attack.tables["signals"]
    commands = {
        "predict, keys": (features, lambda path, out, key: ["predict", model, "--features", path, "--out", out, *key]),
        "predict (regression), keys": (
            features,
            lambda path, out, key: ["predict", regressor, "--features", path, "--out", out, *key],
        ),
        "label, keys": (
            signals,
            lambda path, out, key: [
                "label", "--signals", path, "--classes", "0,1", "--model", "dawid-skene", "--out", out, *key,
            ],
        ),
    }
    for (name, (table, command)), key in itertools.product(commands.items(), ("row", "id")):
        flag = ["--key", "id"] if key == "id" else []

        def run(frame: pd.DataFrame, kind: str) -> Answer:
            place = attack.place()
            path = place / f"table.{kind}"
            if kind == "parts":
                path = write_parts(frame, place / "parts", ["part-9.parquet", "part-10.parquet"], [25, 35])
            else:
                write(frame, path)
            out = place / "found-labels.csv"
            return answer(attack.run(*command(path, out, flag)), lambda: labels_by_key(out))

        whole = keyed(table, key)
        expected = run(whole, "csv")
        assert expected.error is None, f"{name}: {expected.error}"
        for kind, change in itertools.product([*FORMATS, "parts"], [permuted, reversed_rows, two_swapped]):
            found = run(change(whole), kind)
            # Dawid and Skene's model sums over rows in their order: the last digits differ.
            if name.startswith("label") and found.error is None:
                found, rounded = Answer(rounded_labels(found.value)), Answer(rounded_labels(expected.value))
                attack.judge(name, f"{kind}, {key}, {change.__name__}", found, rounded)
            else:
                attack.judge(name, f"{kind}, {key}, {change.__name__}", found, expected)


def rounded_labels(labels: dict[str, list[str]]) -> dict[str, object]:
    return {key: [row[0], *(f"{float(cell):.6f}" for cell in row[1:])] for key, row in labels.items()}


# ---------------------------------------------------------------------------------------------------------------------
# Parts


def parts(attack: Attack) -> None:
    """Features and votes in folders of parts."""
    features, signals = attack.tables["features"], attack.tables["signals"]
    plain = write(features, attack.place() / "features.csv")
    sizes = [5] * 12
    padded = [f"part-{part:03}.parquet" for part in range(12)]
    bare = [f"part-{part}.parquet" for part in range(12)]

    def fit(x: Path, q: Path, *flags: object) -> Answer:
        place = attack.place()
        out = place / "found-labels.csv"
        done = attack.run(
            "fit", "--features", x, "--signals", q, "--bounds", 0.3, "--classes", "0,1", "--epochs", 3,
            "--out", place / "model", *flags,
        )
        said = done.stderr
        if done.returncode == 0:
            done = attack.run("predict", place / "model", "--features", plain, "--out", out)
        found = answer(done, lambda: labels_by_key(out))
        # A loud line is no wrong answer: whoever reads it knows that rows may not belong together.
        return Answer(None, said) if "warning: " in said and found.error is None and "belong together" in said else found

    def predict(model: Path, x: Path, q: Path, *flags: object) -> Answer:
        out = attack.place() / "found-labels.csv"
        done = attack.run("predict", model, "--features", x, "--signals", q, "--out", out, *flags)
        said = done.stderr
        found = answer(done, lambda: labels_by_key(out))
        return Answer(None, said) if "warning: " in said and found.error is None and "belong together" in said else found

    model = attack.model()

    def folder(frame: pd.DataFrame, names: list[str], rows: list[int]) -> Path:
        return write_parts(frame, attack.place() / "parts", names, rows)

    whole = folder(features, padded, sizes)
    for name, command in [("fit in parts", fit), ("predict in parts, signals", lambda x, q, *flags: predict(model, x, q, *flags))]:
        expected = command(whole, folder(signals, padded, sizes))
        assert expected.error is None, expected.error
        cases = {
            "part-10 after part-2": (folder(features, bare, sizes), folder(signals, bare, sizes)),
            "one folder padded": (whole, folder(signals, bare, sizes)),
            "other names": (whole, folder(signals, [f"votes_{part}.parquet" for part in range(12)], sizes)),
            "the first part has the last number": (whole, folder(signals, [f"part-{part}.parquet" for part in (12, *range(1, 12))], sizes)),
            "from 1": (whole, folder(signals, [f"part-{part}.parquet" for part in range(1, 13)], sizes)),
            "other sizes": (whole, folder(signals, padded[:11], [10, *[5] * 10])),
            "fewer parts": (whole, folder(signals, ["part-0.parquet", "part-1.parquet"], [30, 30])),
            "a part is missing": (whole, folder(signals.iloc[5:], padded[1:], sizes[1:])),
            "a row is missing": (whole, folder(signals.iloc[:-1], padded, [*sizes[:-1], 4])),
        }
        for case, (x, q) in cases.items():
            attack.judge(name, case, command(x, q), expected)
        for key in ("row", "id"):
            flag = ["--key", "id"] if key == "id" else []
            x = folder(keyed(features, key), padded, sizes)
            for change in (lambda frame: frame, *ROW_CHANGES):
                votes = change(keyed(signals, key))
                sizes_of_votes = [*sizes[:-1], len(votes) - 55]
                found = command(x, folder(votes, bare, sizes_of_votes), *flag)
                right = expected if name == "fit in parts" or key == "row" else with_keys(expected, keyed(features, key))
                attack.judge(name, f"{key}, {getattr(change, '__name__', 'same')}", found, right)


def with_keys(expected: Answer, frame: pd.DataFrame) -> Answer:
    keys = [str(key) for key in frame[frame.columns[0]]]
    return Answer({keys[int(row)]: value for row, value in expected.value.items()})


# ---------------------------------------------------------------------------------------------------------------------
# Python


def python(attack: Attack) -> None:
    features, signals, labels = (attack.tables[name] for name in ("features", "signals", "labels"))
    truth = labels["label"]

    def call(work: Callable[[], object]) -> Answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return Answer(work())
            except (ValueError, TypeError, RuntimeError) as error:
                return Answer(None, str(error))

    for task, names in itertools.product(["classification", "regression"], [None, ["x1", "x0", "x2"]]):
        frame = features.set_axis(names or features.columns, axis=1)
        kind = labelflow.LabelFlowClassifier if task == "classification" else labelflow.LabelFlowRegressor
        model = kind.load(attack.model(task, names))
        predict = model.predict_proba if task == "classification" else model.predict
        expected = call(lambda: predict(frame))
        assert expected.error is None, expected.error
        for case, change in COLUMN_CHANGES.items():
            attack.judge("Python, loaded flow", f"{task}, {case}", call(lambda: predict(change(frame))), expected)
    for name in ("DawidSkene", "SnorkelLabelModel", "MajorityVote"):
        fitted = getattr(labelflow, name)(classes=[0, 1]).fit(signals)
        expected = call(lambda: fitted.predict_proba(signals))
        for case, change in COLUMN_CHANGES.items():
            attack.judge("Python, label model", f"{name}, {case}", call(lambda: fitted.predict_proba(change(signals))), expected)

    def fit(x: object, q: object) -> np.ndarray:
        model = labelflow.LabelFlowClassifier(max_epochs=3, bounds=0.3).fit(x, q)
        return model.predict_proba(features)

    expected = call(lambda: fit(features, signals))
    for change in (permuted, reversed_rows, two_swapped):
        attack.judge("Python, index", f"fit, {change.__name__}", call(lambda: fit(features, change(signals))), expected)
    model = labelflow.LabelFlowClassifier.load(attack.model())
    scored = call(lambda: model.score(features, truth))
    calibrated = call(lambda: model.calibrate(features, truth).predict_proba(features))
    for change in (permuted, reversed_rows, two_swapped):
        attack.judge("Python, index", f"score, {change.__name__}", call(lambda: model.score(features, change(truth))), scored)
        found = call(lambda: model.calibrate(features, change(truth)).predict_proba(features))
        attack.judge("Python, index", f"calibrate, {change.__name__}", found, calibrated)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        attack = Attack(Path(folder))
        for cases in (columns, outputs, pairs, parts, python):
            cases(attack)
        return attack.report()


if __name__ == "__main__":
    sys.exit(main())
