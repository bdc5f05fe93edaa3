#!/usr/bin/env python3
"""Print the comparison of label models as Markdown tables: what `make label-models` measured, beside published figures.

    python3 tools/label_model_table.py target/label-models.json

A table each of rules (F1 of class 1), crowds and planted votes (accuracy), all in percent, of the expected calibration error on the real sets,
and of the difference from a majority vote on planted kinds.
"""

import json
import sys
from collections import defaultdict
from statistics import fmean


def read(path):
    """Means over seeds: {(metric, set, system): value}, and published figures {(set, system): value}."""
    values, published = defaultdict(list), {}
    for run in json.load(open(path)):
        key = run["set"], run["system"]
        values[run["metric"], *key].append(run["value"])
        paper = run["expectation"].get("metrics", {}).get(run["metric"], {}).get("paper")
        if paper is not None:
            published[key] = paper
    return {key: fmean(found) for key, found in values.items()}, published


def table(title, sets, systems, value, short):
    """A line per system, a column per set, and the mean."""
    print(f"\n{title}\n\n| | " + " | ".join(name.removeprefix(short) for name in sets) + " | mean |")
    print("|---|" + "---:|" * (len(sets) + 1))
    for system in systems:
        found = [value(name, system) for name in sets]
        if all(number is not None for number in found):
            print(f"| {system} | " + " | ".join(f"{number:.1f}" for number in [*found, fmean(found)]) + " |")


def main():
    means, published = read(sys.argv[1])
    names = sorted({name for _, name, _ in means})
    systems = sorted({system for *_, system in means}, key=lambda name: (name != "auto", name != "hyper", name != "mv", name))
    rules, crowds, planted = ([name for name in names if name.startswith(kind)] for kind in ("wrench-", "crowd-", "planted-"))

    def of(metric):
        return lambda name, system: means.get((metric, name, system))

    table("F1 of class 1, rules", rules, systems, of("f1"), "wrench-")
    table("F1 of class 1, rules, as published", rules, systems, lambda name, system: published.get((name, system)), "wrench-")
    table("Accuracy, crowds", crowds, systems, of("accuracy"), "crowd-")
    table("Expected calibration error, rules and crowds", rules + crowds, systems, of("ece"), "")
    table("Accuracy, planted votes, mean of twenty problems of each kind", planted, systems, of("accuracy"), "planted-")
    if planted:
        best = [max(means["accuracy", name, system] for system in systems if system != "auto") for name in planted]
        print(f"\nbest other model of each kind, chosen afterwards: {fmean(best):.1f}")
        worst = min(means["accuracy", name, "auto"] - means["accuracy", name, "mv"] for name in planted + crowds)
        worst = min([worst] + [means["f1", name, "auto"] - means["f1", name, "mv"] for name in rules])
        print(f"worst difference of auto from a majority vote on any set or kind: {worst:+.1f}")


if __name__ == "__main__":
    main()
