"""Reference values for label models and logistic regression, computed with published packages.

Makes small seeded problems and writes the results of Snorkel's LabelModel, crowd-kit's DawidSkene and
scikit-learn's LogisticRegression into one JSON file each, under
crates/labelflow-weak/tests/golden/. The Rust tests must reproduce them.

Run with `python3 tools/golden_snorkel.py`. It needs snorkel==0.10.0, crowd-kit and scikit-learn from
the package index, installed in a virtual environment outside the repository. The tests never run this
program; they only read the files it wrote.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy
import pandas
from crowdkit.aggregation import DawidSkene
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from snorkel.labeling.model import LabelModel

GOLDEN = Path(__file__).resolve().parent.parent / "crates" / "labelflow-weak" / "tests" / "golden"
ABSTAIN = -1
DECIMALS = 7
# EM iterations: enough to matter, too few for a wrong path to reach the right end.
ROUNDS = 30

# What each case changes, by the names of SnorkelLabelModel's settings.
SNORKEL_CASES = [
    {"name": "two classes", "seed": 1, "balance": [0.5, 0.5], "accuracies": [0.9, 0.75, 0.6, 0.8]},
    {"name": "always votes", "seed": 2, "balance": [0.5, 0.5], "accuracies": [0.85, 0.7, 0.6], "silence": 0.0},
    {"name": "three classes", "seed": 3, "balance": [0.5, 0.3, 0.2], "accuracies": [0.8, 0.7, 0.6, 0.7, 0.5]},
    {"name": "unbalanced", "seed": 4, "balance": [0.9, 0.1], "accuracies": [0.8, 0.7, 0.8, 0.7, 0.75], "silence": 0.6},
    {
        "name": "four equal classes, many epochs",
        "seed": 5,
        "balance": [0.25, 0.25, 0.25, 0.25],
        "accuracies": [0.9, 0.4, 0.6, 0.7, 0.8, 0.5],
        "settings": {"n_epochs": 500, "rate_margin": 0.02},
    },
    {
        "name": "l2 and a precision for each labeler",
        "seed": 6,
        "balance": [0.6, 0.4],
        "accuracies": [0.9, 0.8, 0.7, 0.55],
        "settings": {"l2": 0.1, "precision": [0.9, 0.8, 0.7, 0.6]},
    },
    {
        "name": "warm-up and exponential schedule",
        "seed": 7,
        "balance": [0.4, 0.3, 0.3],
        "accuracies": [0.9, 0.8, 0.7, 0.6],
        "settings": {
            "learning_rate": 0.02,
            "momentum": 0.8,
            "warm_up_epochs": 10,
            "schedule": {"exponential": {"factor": 0.95}},
            "min_learning_rate": 0.001,
        },
    },
    {
        "name": "step schedule",
        "seed": 8,
        "balance": [0.5, 0.5],
        "accuracies": [0.9, 0.8, 0.7, 0.6],
        "settings": {"schedule": {"step": {"factor": 0.8, "every": 5}}},
    },
    {
        "name": "linear schedule",
        "seed": 9,
        "balance": [0.5, 0.5],
        "accuracies": [0.9, 0.8, 0.7, 0.6],
        "settings": {"schedule": "linear"},
    },
]


def planted_votes(case: dict, rows: int = 150) -> NDArray[numpy.int64]:
    """Votes of independent labelers with these accuracies; errors go to any other class, some votes are missing."""
    random = numpy.random.default_rng(case["seed"])
    classes, labelers = len(case["balance"]), len(case["accuracies"])
    truth = random.choice(classes, size=rows, p=case["balance"])[:, None]
    wrong = (truth + random.integers(1, classes, size=(rows, labelers))) % classes
    votes = numpy.where(random.random((rows, labelers)) < case["accuracies"], truth, wrong)
    votes[random.random((rows, labelers)) < case.get("silence", 0.3)] = ABSTAIN
    return votes


def snorkel_settings(settings: dict) -> dict:
    """The settings of a case by Snorkel's names."""
    names = {"n_epochs": "n_epochs", "learning_rate": "lr", "l2": "l2", "precision": "prec_init", "rate_margin": "mu_eps"}
    translated = {names[name]: value for name, value in settings.items() if name in names}
    schedule = settings.get("schedule", "constant")
    kind = schedule if isinstance(schedule, str) else next(iter(schedule))
    scheduler = {"min_lr": settings.get("min_learning_rate", 0.0)}
    if "warm_up_epochs" in settings:
        scheduler |= {"warmup_steps": settings["warm_up_epochs"], "warmup_unit": "epochs"}
    if kind == "exponential":
        scheduler["exponential_config"] = {"gamma": schedule[kind]["factor"]}
    if kind == "step":
        scheduler["step_config"] = {"gamma": schedule[kind]["factor"], "step_size": schedule[kind]["every"]}
    translated |= {"lr_scheduler": kind, "lr_scheduler_config": scheduler}
    if "momentum" in settings:
        translated["optimizer_config"] = {"sgd_config": {"momentum": settings["momentum"]}}
    return translated


def snorkel_case(case: dict) -> dict:
    votes, settings = planted_votes(case), case.get("settings", {})
    model = LabelModel(cardinality=len(case["balance"]), verbose=False)
    model.fit(
        votes,
        class_balance=case["balance"],
        seed=case["seed"],
        progress_bar=False,
        **snorkel_settings(settings),
    )
    # The first number that the fit draws after seeding scales its start.
    scale = numpy.random.RandomState(case["seed"]).random_sample()
    return {
        "name": case["name"],
        "n_classes": len(case["balance"]),
        "settings": settings | {"class_balance": case["balance"], "init_scale": scale},
        "votes": votes.tolist(),
        "rates": rounded(model.get_conditional_probs()[:, 1:, :]),
        "labeler_weights": rounded(model.get_weights()),
        "probabilities": rounded(model.predict_proba(votes)),
    }


def dawid_skene_case(case: dict) -> dict:
    votes = planted_votes(case)
    votes = votes[(votes != ABSTAIN).any(axis=1)]
    tasks, workers = numpy.nonzero(votes != ABSTAIN)
    answers = pandas.DataFrame({"task": tasks, "worker": workers, "label": votes[tasks, workers]})
    # Without a tolerance it runs all its rounds.
    model = DawidSkene(n_iter=ROUNDS, tol=-numpy.inf)
    probabilities = model.fit_predict_proba(answers).sort_index(axis=0).sort_index(axis=1)
    return {
        "name": case["name"],
        "n_classes": len(case["balance"]),
        "rounds": ROUNDS,
        "votes": votes.tolist(),
        "probabilities": rounded(probabilities.to_numpy()),
    }


def logistic_regression_case(name: str, classes: int, seed: int) -> dict:
    random = numpy.random.default_rng(seed)
    rows, columns = 80, 4
    centers = random.normal(size=(classes, columns))
    labels = random.integers(classes, size=rows)
    # Numbers that a 32-bit float holds exactly, so that both programs get the same.
    features = numpy.round((centers[labels] + random.normal(size=(rows, columns))) * 256) / 256
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=100_000).fit(features, labels)
    return {
        "name": name,
        "n_classes": classes,
        "features": features.tolist(),
        "labels": labels.tolist(),
        "probabilities": rounded(model.predict_proba(features)),
    }


def rounded(values: NDArray[numpy.float64]) -> list:
    return numpy.round(numpy.asarray(values, dtype=float), DECIMALS).tolist()


def write(name: str, package: str, cases: list[dict]) -> None:
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    text = f'{{"package":"{package} {version(package)}","cases":[\n{lines}\n]}}\n'
    GOLDEN.mkdir(parents=True, exist_ok=True)
    (GOLDEN / name).write_text(text)


def main() -> None:
    write("snorkel_label_model.json", "snorkel", [snorkel_case(case) for case in SNORKEL_CASES])
    write("dawid_skene.json", "crowd-kit", [dawid_skene_case(case) for case in SNORKEL_CASES[:5]])
    regressions = [("two classes", 2, 11), ("three classes", 3, 12), ("six classes", 6, 13)]
    write("logistic_regression.json", "scikit-learn", [logistic_regression_case(*case) for case in regressions])


if __name__ == "__main__":
    main()
