"""SMS spam with its 73 rules: labeling functions, their analysis, a label model, a classifier.

    LABELFLOW_DATA=DIR python sms_spam.py

DIR is what `labelflow data fetch sms-rules` fills. Where Snorkel is installed, its label model with a logistic
regression on the same features stands beside.
"""

import csv
import os
import re
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import labelflow

FOLDER = Path(os.environ["LABELFLOW_DATA"]) / "votes" / "sms-rules"
CLASSES = ["ham", "spam"]
# Known from the labelled validation messages: 64 of 500 are spam.
BALANCE = [0.872, 0.128]


def messages(name):
    with open(FOLDER / name, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [text.lower() for _, text in rows], np.array([CLASSES.index(label) for label, _ in rows])


def rule(place, label, pattern):
    expression = re.compile(pattern)

    @labelflow.labeling_function(name=f"rule{place}")
    def vote(text):
        return CLASSES.index(label) if expression.search(text) else labelflow.ABSTAIN

    return vote


def main():
    lines = (FOLDER / "rule.txt").read_text(encoding="utf-8").splitlines()
    rules = [rule(place, *line.split("\t")[:2]) for place, line in enumerate(filter(None, lines))]
    (train, _), (valid, valid_truth), (test, truth) = (messages(f"{n}.csv") for n in ("train", "valid", "test"))
    signals = labelflow.apply(rules, train)
    print(labelflow.analyze(labelflow.apply(rules, valid), valid_truth).sort_values("Coverage").tail(5))
    words = HashingVectorizer(n_features=512, alternate_sign=False)
    X, X_test = words.transform(train).toarray(), words.transform(test).toarray()

    scores = {}
    snorkel = [labelflow.SnorkelLabelModel(class_balance=balance) for balance in ("uniform", BALANCE)]
    for model in [labelflow.MajorityVote(), *snorkel]:
        two_stage = labelflow.TwoStageClassifier(label_model=model, end_model=LogisticRegression())
        scores[f"{model}, then logistic regression"] = f1_score(truth, two_stage.fit(X, signals).predict(X_test))
    constraints = [{"kind": kind, "weight": 10.0} for kind in ("range", "sum-to-one", "error-bound")]
    constraints.append({"kind": "class-balance", "weight": 100.0, "shares": BALANCE})
    flow = labelflow.LabelFlowClassifier(
        bounds=0.1, constraints=constraints, scaling="none", preset="fast", n_steps=4, d_hidden=32, verbose=1
    )
    scores["LabelFlowClassifier"] = f1_score(truth, flow.fit(X, signals).predict(X_test))
    try:
        from snorkel.labeling.model import LabelModel
    except ImportError:
        print("Snorkel is not installed: not compared")
    else:
        votes = signals.votes()
        covered = (votes >= 0).any(axis=1)
        for balance in (None, BALANCE):
            theirs = LabelModel(cardinality=2, verbose=False)
            theirs.fit(votes, seed=0, class_balance=balance, progress_bar=False)
            labels = theirs.predict_proba(votes[covered]).argmax(axis=1)
            name = f"Snorkel ({'given' if balance else 'uniform'} balance), then logistic regression"
            scores[name] = f1_score(truth, LogisticRegression().fit(X[covered], labels).predict(X_test))
    for name, score in scores.items():
        print(f"{name:75} F1 {score:.3f}")
    return scores


if __name__ == "__main__":
    main()
