#!/usr/bin/env python3
"""How many errors the tasks hold that `label --relabel` lists, and how many they could hold.

    python tools/relabel_limit.py LABELFLOW VOTES TRUTH [--tasks 100]

LABELFLOW is the program, VOTES a crowd's table with the columns `question`, `worker` and `answer`, TRUTH one with `question` and `truth`. Prints a line
per label model: the errors of its labels, and how many of them are among the tasks that it lists. The last lines are a limit that no program
without the truth can be asked to pass: a classifier which is trained on the *true* errors of nine tenths of the tasks, with the probabilities of all
models and the counts of votes as features, lists those of the last tenth. Needs scikit-learn.
"""

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

MODELS = ("auto", "hyper", "majority-vote", "dawid-skene", "data-programming", "flying-squid", "glad", "mace", "metal", "minimax-entropy", "snorkel")
SEEDS = range(5)


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def label(program, votes, model, n_tasks, folder):
    """The labels, the probabilities and the listed tasks of a model."""
    labels, listed = folder / f"{model}.csv", folder / f"{model}-relabel.csv"
    command = [program, "label", "--task-votes", votes, "--model", model, "--out", labels, "--relabel", str(n_tasks), "--relabel-out", listed]
    subprocess.run(command, check=True, capture_output=True)
    found = rows(labels)
    key = next(iter(found[0]))
    probabilities = {row[key]: [float(value) for name, value in row.items() if name.startswith("p_")] for row in found}
    return {row[key]: row["label"] for row in found}, probabilities, [row[key] for row in rows(listed)]


def limit(features, wrong, n_tasks):
    """Errors among the first tasks by what a classifier of errors says, the mean over seeds, for two classifiers."""
    for make in (
        lambda seed: make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000)),
        lambda seed: RandomForestClassifier(300, min_samples_leaf=5, random_state=seed),
    ):
        hits = []
        for seed in SEEDS:
            folds = StratifiedKFold(10, shuffle=True, random_state=seed)
            risk = cross_val_predict(make(seed), features, wrong, cv=folds, method="predict_proba")[:, 1]
            hits.append(wrong[np.argsort(-risk, kind="stable")[:n_tasks]].sum())
        yield float(np.mean(hits))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("votes", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--tasks", type=int, default=100, help="how many to list (default 100)")
    options = parser.parse_args()
    truth = {row["question"]: row["truth"] for row in rows(options.truth)}
    tasks = list(truth)
    counts = {task: {} for task in tasks}
    for row in rows(options.votes):
        if row["question"] in counts:
            of_task = counts[row["question"]]
            of_task[row["answer"]] = of_task.get(row["answer"], 0) + 1
    with tempfile.TemporaryDirectory() as folder:
        found = {model: label(options.program, options.votes, model, options.tasks, Path(folder)) for model in MODELS}
    print("| label model | errors | among the listed |\n|---|---:|---:|")
    for model, (labels, _, listed) in found.items():
        wrong = {task for task in tasks if labels[task] != truth[task]}
        print(f"| {model} | {len(wrong)} | {len(wrong & set(listed))} |")

    def described(task):
        votes = sorted(counts[task].values(), reverse=True)
        shares = [*votes, 0, 0][:3]
        return [len(votes), sum(votes), *shares, *(value for _, p, _ in found.values() for value in sorted(p[task], reverse=True)[:3])]

    features = np.array([described(task) for task in tasks])
    for model in ("auto", "hyper"):
        wrong = np.array([found[model][0][task] != truth[task] for task in tasks])
        hits = ", ".join(f"{value:.1f}" for value in limit(features, wrong, options.tasks))
        print(f"trained on the true errors of {model}, a logistic regression and a random forest list {hits} of {wrong.sum()}")


if __name__ == "__main__":
    main()
