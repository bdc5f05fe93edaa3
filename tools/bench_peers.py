"""Compares labelflow with a plain PyTorch program of the same method, and prints a table.

Builds the bench `peers`, makes a virtual environment with torch outside the repository, and runs
the two programs in turn, each time in a new process, on the same sizes. Exit codes: 0 all
ratios reached, 1 a ratio missed, 2 error.

Run with `python3 tools/bench_peers.py`, on an idle machine. It needs Linux and
cargo; LABELFLOW_PEERS_PYTHON names an interpreter that has torch installed.
"""

import argparse
import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAIN_PROGRAMS = {
    "classification": ROOT / "tools" / "plain_llf.py",
    "regression": ROOT / "tools" / "plain_llf_regression.py",
}
PACKAGES = ["torch", "numpy"]
ROUNDS = 2
N_CORES = len(os.sched_getaffinity(0))

SMALL = {"rows": 228, "features": 30, "epochs": 100, "warmup": 5}
LARGE = {"rows": 6000, "features": 784, "epochs": 6, "warmup": 2}
LARGE |= {"predict-rows": 2000, "samples": 10}
# As many rows and columns as the training part of Bike Sharing.
RULES = {"rows": 6951, "features": 12, "epochs": 40, "warmup": 5, "task": "regression"}
RUNS = {"small": SMALL, "large": LARGE, "rules": RULES}


@dataclass(frozen=True)
class Comparison:
    """One line of the table."""

    name: str
    run: str
    figure: str
    at_least: float


COMPARISONS = [
    Comparison("epoch, 228 × 30", "small", "epoch_ms", at_least=6.0),
    Comparison("epoch, 6,000 × 784", "large", "epoch_ms", at_least=1.4),
    Comparison("prediction, 2,000 × 784, 10 samples", "large", "predict_ms", at_least=5.0),
    Comparison("peak memory, 6,000 × 784", "large", "peak_mb", at_least=2.0),
    Comparison("epoch, regression, 6,951 × 12", "rules", "epoch_ms", at_least=4.0),
]


def say(text: str) -> None:
    """Progress goes to standard error: standard output is the table."""
    print(text, file=sys.stderr, flush=True)


def output_of(command: list) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def build_bench(bench: str, device: str = "cpu") -> Path:
    """The path of a bench of labelflow, from cargo's messages."""
    say(f"building the bench {bench} of labelflow")
    command = ["cargo", "bench", "--no-run", "--bench", bench, "--workspace"]
    features = [] if device == "cpu" else ["--features", device]
    for line in output_of([*command, *features, "--message-format=json"]).splitlines():
        message = json.loads(line)
        is_wanted = message.get("target", {}).get("name") == bench
        if is_wanted and message.get("executable"):
            return Path(message["executable"])
    raise RuntimeError(f"cargo named no executable for the bench `{bench}`")


def can_import(python: Path, modules: str) -> bool:
    command = [python, "-c", f"import {modules}"]
    return python.exists() and subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def find_python(variable: str, environment: str, modules: str, packages: list[str]) -> Path:
    """An interpreter with these modules: the one that a variable names, or that of a new virtual environment."""
    if named := os.environ.get(variable):
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "labelflow" / environment
    python = folder / "bin" / "python"
    if not can_import(python, modules):
        say(f"installing {', '.join(packages)} in {folder}")
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", *packages]
        # Standard output is for the table alone.
        subprocess.run(install, check=True, stdout=sys.stderr)
    return python


def measure(command: list, run: dict, device: str) -> dict:
    """Runs one of the programs; its last line is the result."""
    arguments = {**run, "threads": N_CORES, "device": device}
    flags = [part for name, value in arguments.items() for part in (f"--{name}", str(value))]
    result = json.loads(output_of([*command, *flags]).splitlines()[-1])
    figures = {name: result[name] for name in ("epoch_ms", "predict_ms", "peak_mb", "last_loss")}
    say(f"  {result['program']}: {figures}")
    return result


def without(run: dict, name: str) -> dict:
    return {key: value for key, value in run.items() if key != name}


def measure_all(bench: Path, python: Path, device: str) -> dict:
    """Results by run and program. The programs take turns, so that both see the same machine."""
    results = {}
    for run_name, run in RUNS.items():
        for round_number in range(1, ROUNDS + 1):
            say(f"{run_name} run, round {round_number} of {ROUNDS}")
            ours = measure([bench], run, device)
            # The task chooses the program and is not one of its arguments.
            task, plain = run.get("task", "classification"), without(run, "task")
            peer = measure([python, PLAIN_PROGRAMS[task]], plain, device)
            for program_name, result in (("labelflow", ours), ("pytorch", peer)):
                results.setdefault((run_name, program_name), []).append(result)
    return results


def best(results: list[dict], figure: str) -> float:
    """The better of the rounds, since disturbances only slow a run down."""
    return min(result[figure] for result in results)


def compare(results: dict) -> list[dict]:
    rows = []
    for comparison in COMPARISONS:
        ours, peer = results[comparison.run, "labelflow"], results[comparison.run, "pytorch"]
        figure, is_time = comparison.figure, comparison.figure != "peak_mb"
        rows.append({
            "bench": comparison.name,
            "peer": "pytorch",
            "ours_ms": best(ours, figure) if is_time else None,
            "peer_ms": best(peer, figure) if is_time else None,
            "ratio": best(peer, figure) / best(ours, figure),
            "at_least": comparison.at_least,
            "ours_peak_mb": best(ours, "peak_mb"),
            "peer_peak_mb": best(peer, "peak_mb"),
        })
    return rows


def is_reached(row: dict) -> bool:
    return row["ratio"] >= row["at_least"]


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def header(results: dict, device: str) -> str:
    commit = output_of(["git", "describe", "--always", "--dirty"]).strip()
    rustc = output_of(["rustc", "--version"]).split()[1]
    torch = results["small", "pytorch"][0]["torch"]
    machine = f"{cpu_model()}, {N_CORES} cores, device {device}"
    return f"{machine}; labelflow {commit}, rustc {rustc}; torch {torch}"


def table(rows: list[dict]) -> str:
    lines = ["| | labelflow | plain PyTorch | ratio | at least | |", "|---|---|---|---|---|---|"]
    for row in rows:
        if row["ours_ms"] is None:
            figures = f"{row['ours_peak_mb']:,.0f} MB | {row['peer_peak_mb']:,.0f} MB"
        else:
            figures = f"{row['ours_ms']:,.1f} ms | {row['peer_ms']:,.1f} ms"
        verdict = "reached" if is_reached(row) else "missed"
        ratio = f"{row['ratio']:.2f} | {row['at_least']:g}"
        lines.append(f"| {row['bench']} | {figures} | {ratio} | {verdict} |")
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-check", action="store_true", help="exit with 0 if a ratio is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    try:
        bench = build_bench("peers", arguments.device)
        python = find_python("LABELFLOW_PEERS_PYTHON", "peers-venv", "torch", PACKAGES)
        results = measure_all(bench, python, arguments.device)
        rows = compare(results)
        print(header(results, arguments.device), table(rows), sep="\n\n")
        if arguments.json:
            arguments.json.parent.mkdir(parents=True, exist_ok=True)
            arguments.json.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    except (OSError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        say(f"bench_peers: {error}")
        return 2
    return 0 if arguments.no_check or all(map(is_reached, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
