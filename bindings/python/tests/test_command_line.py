"""Numbers equal to the command line's, to the last bit."""

import csv
import os
import re
import subprocess

import numpy as np
import pytest
from conftest import TINY, TINY_TRAINING, Planted, PlantedTables, PlantedValues, quick_completer

import labelflow

BINARY = os.environ.get("LABELFLOW_BINARY")

pytestmark = pytest.mark.skipif(BINARY is None, reason="LABELFLOW_BINARY does not name the command line")


def run(*arguments):
    outcome = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr


def read_probabilities(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    columns = [name for name in rows[0] if name.startswith("p_")]
    return np.array([[float(row[name]) for name in columns] for row in rows])


@pytest.fixture(scope="module", params=[2, 3])
def problem(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("problem")
    planted = Planted(n_rows=200, n_classes=request.param)
    np.save(folder / "features.npy", planted.X)
    np.save(folder / "signals.npy", planted.votes)
    return folder, planted


@pytest.mark.parametrize("preset", ["paper", "fast", "ensemble"])
def test_fit_and_predict(problem, preset):
    folder, planted = problem
    features, signals, model = (folder / name for name in ("features.npy", "signals.npy", f"model-{preset}"))
    run("fit", "--features", features, "--signals", signals, "--preset", preset, "--epochs", 20, "--seed", 3, "--out", model)
    run("predict", model, "--features", features, "--out", folder / "labels.csv")
    theirs = read_probabilities(folder / "labels.csv")

    ours = labelflow.LabelFlowClassifier(preset=preset, max_epochs=20, random_state=3).fit(planted.X, planted.votes)
    np.testing.assert_array_equal(ours.predict_proba(planted.X), theirs)
    loaded = labelflow.LabelFlowClassifier.load(model)
    np.testing.assert_array_equal(loaded.predict_proba(planted.X), theirs)

    # And back: the command line predicts with a folder written here.
    ours.save(folder / "ours")
    run("predict", folder / "ours", "--features", features, "--out", folder / "back.csv")
    np.testing.assert_array_equal(read_probabilities(folder / "back.csv"), theirs)
    assert (folder / "ours" / "weights.safetensors").read_bytes() == (model / "weights.safetensors").read_bytes()


RULES = """
range = [0, 20]

[[rule]]
feature = "x0"
threshold = 0.1
above = 12.3
below = "7.1 to 7.7"

[[rule]]
feature = "x1"
threshold = -0.3
above = 9.1

[[rule]]
feature = "x2"
at_least = 0.7
quantile = 0.9
value = 15.3
"""


@pytest.mark.parametrize("preset", ["paper", "fast"])
def test_regression(tmp_path, preset):
    X = PlantedValues(n_rows=200).X
    np.save(tmp_path / "features.npy", X)
    (tmp_path / "rules.toml").write_text(RULES)
    features, model, labels = (tmp_path / name for name in ("features.npy", "model", "labels.csv"))
    flags = ("--preset", preset, "--epochs", 20, "--seed", 3, "--out", model)
    run("fit", "--features", features, "--rules", tmp_path / "rules.toml", *flags)

    def predicted_with(folder):
        run("predict", folder, "--features", features, "--out", labels)
        return np.loadtxt(labels, delimiter=",", skiprows=1)[:, 1:]

    def numbers(model):
        return np.column_stack([*model.predict(X, return_std=True), model.predict_quantiles(X, [0.05, 0.5, 0.95])])

    theirs = predicted_with(model)
    rules = [
        labelflow.MeanRule("x0", 0.1, above=12.3, below=(7.1, 7.7)),
        labelflow.MeanRule(1, -0.3, above=9.1),
        labelflow.QuantileRule("x2", 0.7, 0.9, above=15.3),
    ]
    ours = labelflow.LabelFlowRegressor(preset=preset, max_epochs=20, random_state=3)
    ours.fit(X, rules, label_range=(0, 20))
    np.testing.assert_array_equal(numbers(ours), theirs)
    np.testing.assert_array_equal(numbers(labelflow.LabelFlowRegressor.load(model)), theirs)
    ours.save(tmp_path / "ours")
    np.testing.assert_array_equal(predicted_with(tmp_path / "ours"), theirs)
    assert (tmp_path / "ours" / "weights.safetensors").read_bytes() == (model / "weights.safetensors").read_bytes()


def write_clouds(folder, clouds, parts=None):
    """Writes clouds as npz files, and returns the names that the command line gives them."""
    folder.mkdir()
    names = [f"cloud-{place:02}.npz" for place in range(len(clouds))]
    for place, name in enumerate(names):
        arrays = {} if parts is None else {"parts": parts[place]}
        np.savez(folder / name, points=clouds[place], **arrays)
    return names


@pytest.mark.parametrize("learned_from", ["scans", "parts"])
def test_completion(tmp_path, learned_from):
    tables = PlantedTables()
    is_cut = learned_from == "parts"
    names = write_clouds(tmp_path / "shapes", tables.shapes, tables.parts if is_cut else None)
    write_clouds(tmp_path / "scans", tables.scans)
    lines = [f"{name} = {value}" for name, value in TINY.items()]
    lines += [f"training.{name} = {value}" for name, value in TINY_TRAINING.items()]
    (tmp_path / "run.toml").write_text("[config]\n" + "\n".join(lines))
    model, out, scan = tmp_path / "model", tmp_path / "out", tables.scans[0]
    flags = [] if is_cut else ["--scans", tmp_path / "scans"]
    run("fit", tmp_path / "run.toml", "--shapes", tmp_path / "shapes", *flags, "--seed", 3, "--out", model)

    ours = quick_completer(random_state=3)
    ours.fit(tables.shapes, **({"parts": tables.parts, "names": names} if is_cut else {"scans": tables.scans}))
    ours.save(tmp_path / "ours")
    assert (tmp_path / "ours" / "weights.safetensors").read_bytes() == (model / "weights.safetensors").read_bytes()
    # The command line also says which files a model came from.
    theirs = re.sub(r"\[origin\].*?(?=\[config\])", "", (model / "model.toml").read_text(), flags=re.DOTALL)
    assert (tmp_path / "ours" / "model.toml").read_text() == theirs

    def completed_with(folder, *flags):
        run("complete", folder, tmp_path / "scans" / "cloud-00.npz", "-n", 3, "--format", "npy", "--out", out, *flags)
        return np.stack([np.load(out / "cloud-00" / f"completion-0{place}.npy") for place in range(3)])

    center = scan.mean(axis=0)
    given = ("--frame", ",".join(map(repr, [*center.tolist(), 900.0])), "--keep-input", "--latent", "prior")
    for theirs, options in [
        (completed_with(model), {}),
        (completed_with(tmp_path / "ours", "--frame", "scan", "--seed", 5), {"frame": "scan", "random_state": 5}),
        (
            completed_with(model, *given, "--points", 100, "--temperature", 0.7),
            {"frame": (center, 900.0), "keep_input": True, "latent": "prior", "n_points": 100, "temperature": 0.7},
        ),
    ]:
        for one in (ours, labelflow.PointCloudCompleter.load(model)):
            np.testing.assert_array_equal(one.complete(scan, 3, **options), theirs)


@pytest.mark.parametrize("name", labelflow.LABEL_MODELS)
def test_label(problem, name):
    folder, planted = problem
    signals, labels, saved = (folder / part for part in ("signals.npy", f"{name}.csv", f"{name}.json"))
    known = {
        "constrained-labels": ("bounds", "0.3"),
        "adversarial-multiclass": ("errors", "0.3"),
        "performance-guaranteed-vote": ("errors", "0.3"),
    }.get(name)
    flags = [] if known is None else [f"--{known[0]}", known[1]]
    run("label", "--signals", signals, "--model", name, "--out", labels, "--save", saved, *flags)
    theirs = read_probabilities(labels)
    Model = labelflow.LABEL_MODELS[name]
    ours = Model(**({} if known is None else {known[0]: float(known[1])})).fit(planted.votes)
    np.testing.assert_array_equal(ours.predict_proba(planted.votes), theirs)
    np.testing.assert_array_equal(Model.load(saved).predict_proba(planted.votes), theirs)
    ours.save(folder / "ours.json")
    assert (folder / "ours.json").read_text() == saved.read_text()
