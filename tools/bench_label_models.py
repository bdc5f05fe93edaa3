"""Compares the label models of labelflow with those of Snorkel, crowd-kit and FlyingSquid.

Makes planted votes (1,000,000 rows, 10 labelers, about half of the votes missing), builds the bench
`label_models`, makes a virtual environment with the peers outside the repository, and lets each
program fit and label the same votes in its own process. Exit codes: 0 all ratios reached, 1 a
ratio missed, 2 error.

Run with `python3 tools/bench_label_models.py`, on an idle machine. It needs Linux
and cargo; LABELFLOW_LABEL_MODEL_PEERS names an interpreter that has the peers installed.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench_peers import best, build_bench, find_python, output_of, say

PACKAGES = ["numpy", "pandas", "snorkel==0.10.0", "crowd-kit", "flyingsquid", "pgmpy<1", "torch"]
N_SIGNALS = 10
GROWTH_ROWS = [1_000_000, 3_000_000, 10_000_000]
ROUNDS = 2


@dataclass(frozen=True)
class Comparison:
    """One line of the table: a label model of labelflow and its peer."""

    name: str
    ours: str
    peer: str
    figure: str
    at_least: float


COMPARISONS = [
    Comparison("majority vote, labels", "majority-vote", "snorkel-majority", "predict_s", 50),
    Comparison("Dawid-Skene, fit", "dawid-skene", "crowd-kit-dawid-skene", "fit_s", 50),
    Comparison("Snorkel's label model, fit", "snorkel", "snorkel-label-model", "fit_s", 5),
    Comparison("FlyingSquid, labels", "flying-squid", "flying-squid", "predict_s", 200),
]
MAX_PEAK_MB = 100


def planted_votes(n_rows: int):
    """Votes of ten labelers of different accuracy on two classes; -1 abstains."""
    import numpy as np

    rng = np.random.default_rng(7)
    truth = (rng.random(n_rows) < 0.35).astype(np.int8)
    votes = np.full((n_rows, N_SIGNALS), -1, dtype=np.int8)
    for signal in range(N_SIGNALS):
        speaks = rng.random(n_rows) < rng.uniform(0.3, 0.7)
        is_right = rng.random(n_rows) < rng.uniform(0.55, 0.85)
        votes[speaks, signal] = np.where(is_right, truth, 1 - truth)[speaks]
    return votes, truth


class SnorkelMajority:
    """Snorkel's majority vote has nothing to fit."""

    def fit(self, votes) -> None:
        from snorkel.labeling.model import MajorityLabelVoter

        self.model = MajorityLabelVoter(cardinality=2)

    def predict(self, votes):
        return self.model.predict(votes, tie_break_policy="random")


class SnorkelLabelModel:
    """Snorkel's label model at its own number of epochs."""

    def fit(self, votes) -> None:
        from snorkel.labeling.model import LabelModel

        self.model = LabelModel(cardinality=2, verbose=False)
        self.model.fit(votes, progress_bar=False)

    def predict(self, votes):
        return self.model.predict(votes, tie_break_policy="random")


class CrowdKitDawidSkene:
    """crowd-kit takes a long table, made before the clock starts."""

    def prepare(self, votes) -> None:
        import numpy as np
        import pandas as pd

        task, worker = np.nonzero(votes >= 0)
        self.table = pd.DataFrame({"task": task, "worker": worker, "label": votes[task, worker]})

    def fit(self, votes) -> None:
        from crowdkit.aggregation import DawidSkene

        self.model = DawidSkene(n_iter=10_000).fit(self.table)

    def predict(self, votes):
        return self.model.labels_.to_numpy()


class FlyingSquid:
    """The authors' package counts votes as -1, 0, 1."""

    def prepare(self, votes) -> None:
        import numpy as np

        self.votes = np.where(votes < 0, 0, 2 * votes - 1)

    def fit(self, votes) -> None:
        from flyingsquid.label_model import LabelModel

        self.model = LabelModel(N_SIGNALS)
        self.model.fit(self.votes)

    def predict(self, votes):
        return self.model.predict(self.votes).reshape(-1)


PEERS = {
    "snorkel-majority": SnorkelMajority,
    "snorkel-label-model": SnorkelLabelModel,
    "crowd-kit-dawid-skene": CrowdKitDawidSkene,
    "flying-squid": FlyingSquid,
}


def run_peer(name: str, path: Path) -> None:
    """Times one peer and prints a line of JSON."""
    import numpy as np

    votes = np.load(path)
    peer = PEERS[name]()
    if hasattr(peer, "prepare"):
        peer.prepare(votes)
    start = time.perf_counter()
    peer.fit(votes)
    fitted = time.perf_counter()
    peer.predict(votes)
    predicted = time.perf_counter()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"fit_s": fitted - start, "predict_s": predicted - fitted, "peak_mb": peak_mb}
    print(json.dumps({"program": name, **figures}))


def measure(command: list) -> dict:
    result = json.loads(output_of(command).splitlines()[-1])
    say(f"  {result}")
    return result


def grow(bench: Path, python: Path) -> str:
    """A table of labelflow alone, for growing numbers of rows."""
    lines = ["| rows | model | fit, s | labels, s | ns a vote | memory, MB |", "|---|---|---|---|---|---|"]
    for n_rows in GROWTH_ROWS:
        with tempfile.TemporaryDirectory() as folder:
            votes = Path(folder) / "votes.npy"
            output_of([python, __file__, "--rows", str(n_rows), "--make-votes", votes])
            for model in ("majority-vote", "auto", "dawid-skene", "snorkel", "flying-squid"):
                ours = measure([bench, "--votes", votes, "--model", model])
                seconds = ours["fit_s"] + ours["predict_s"]
                a_vote = 1e9 * seconds / (n_rows * N_SIGNALS)
                figures = f"{ours['fit_s']:.3f} | {ours['predict_s']:.3f} | {a_vote:.1f}"
                lines.append(f"| {n_rows:,} | {model} | {figures} | {ours['peak_mb']:,.0f} |")
    return "\n".join(lines)


def compare(bench: Path, python: Path, votes: Path) -> list[dict]:
    rows = []
    for comparison in COMPARISONS:
        ours, peers = [], []
        for round_number in range(1, ROUNDS + 1):
            say(f"{comparison.name}, round {round_number} of {ROUNDS}")
            ours.append(measure([bench, "--votes", votes, "--model", comparison.ours]))
            peers.append(measure([python, __file__, "--peer", comparison.peer, "--votes", votes]))
        ours_s, peer_s = best(ours, comparison.figure), best(peers, comparison.figure)
        rows.append({
            "bench": comparison.name,
            "peer": comparison.peer,
            "ours_s": ours_s,
            "peer_s": peer_s,
            "ratio": peer_s / ours_s,
            "at_least": comparison.at_least,
            "ours_peak_mb": best(ours, "peak_mb"),
            "peer_peak_mb": best(peers, "peak_mb"),
        })
    return rows


def is_reached(row: dict) -> bool:
    return row["ratio"] >= row["at_least"] and row["ours_peak_mb"] < MAX_PEAK_MB


def table(rows: list[dict]) -> str:
    lines = ["| | peer | labelflow | peer's | ratio | at least | memory, MB | peer's | |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        times = f"{row['ours_s']:.3f} s | {row['peer_s']:.2f} s"
        ratio = f"{row['ratio']:.1f} | {row['at_least']:g}"
        memory = f"{row['ours_peak_mb']:.0f} | {row['peer_peak_mb']:.0f}"
        verdict = "reached" if is_reached(row) else "missed"
        lines.append(f"| {row['bench']} | {row['peer']} | {times} | {ratio} | {memory} | {verdict} |")
    return "\n".join(lines)


def versions(python: Path) -> str:
    code = (
        "from importlib.metadata import version as v;"
        "print(', '.join(f'{p} {v(p)}' for p in "
        "('numpy', 'snorkel', 'crowd-kit', 'flyingsquid', 'torch')))"
    )
    return output_of([python, "-c", code]).strip()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--growth", action="store_true", help="labelflow alone, to ten million rows")
    parser.add_argument("--no-check", action="store_true", help="exit with 0 if a ratio is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    parser.add_argument("--make-votes", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--votes", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if arguments.peer:
        run_peer(arguments.peer, arguments.votes)
        return 0
    if arguments.make_votes:
        import numpy as np

        np.save(arguments.make_votes, planted_votes(arguments.rows)[0])
        return 0
    try:
        bench = build_bench("label_models")
        modules = "snorkel, crowdkit, flyingsquid"
        variable, environment = "LABELFLOW_LABEL_MODEL_PEERS", "label-model-peers-venv"
        python = find_python(variable, environment, modules, PACKAGES)
        if arguments.growth:
            print(grow(bench, python))
            return 0
        with tempfile.TemporaryDirectory() as folder:
            votes = Path(folder) / "votes.npy"
            # Only the peers' interpreter is known to have numpy.
            make = [python, __file__, "--rows", str(arguments.rows), "--make-votes", votes]
            output_of(make)
            rows = compare(bench, python, votes)
        print(f"{arguments.rows:,} × {N_SIGNALS} votes; {versions(python)}", table(rows), sep="\n\n")
        if arguments.json:
            arguments.json.parent.mkdir(parents=True, exist_ok=True)
            arguments.json.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    except (OSError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        say(f"bench_label_models: {error}")
        return 2
    return 0 if arguments.no_check or all(map(is_reached, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
