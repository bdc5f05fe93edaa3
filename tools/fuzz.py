#!/usr/bin/env python3
"""Fuzz readers of files, several targets at a time, and print how often each was executed.

    python3 tools/fuzz.py [--minutes 10] [--jobs 1] [--targets csv,ply] [--sanitizer address|none] [--programs DIR]

A target is a reader of crates/labelflow-testing, or `model` or `checkpoint`. The programs are compiled by cargo-fuzz with a nightly compiler, unless
--programs names a folder with `reader` and, for saved models, `model` and `checkpoint`, and fuzz/corpus has seeds. Inputs that fail are in fuzz/artifacts/TARGET, and the
script ends with 1.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "fuzz"
OF_MODELS = ("model", "checkpoint")
LIMITS = ["-rss_limit_mb=1024", "-malloc_limit_mb=256", "-timeout=20", "-print_final_stats=1"]


def build(sanitizer, models):
    """Compile the programs; return the folder that they are in."""
    features = ["--features", "models"] if models else []
    subprocess.run(["cargo", "+nightly", "fuzz", "build", "-s", sanitizer, "--fuzz-dir", ".", *features], cwd=FOLDER, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", FOLDER / "target"))
    return target / "x86_64-unknown-linux-gnu/release"


def fuzz(target, programs, seconds, longest):
    """Fuzz one target. Returns its executions, and what it printed if it found something."""
    corpus, artifacts = FOLDER / "corpus" / target, FOLDER / "artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    program = programs / (target if target in OF_MODELS else "reader")
    command = [program, corpus, f"-max_total_time={seconds}", f"-artifact_prefix={artifacts}/", f"-max_len={longest}", *LIMITS]
    found = subprocess.run(command, env={**os.environ, "READER": target}, capture_output=True, text=True, errors="replace", check=False)
    executions = re.search(r"stat::number_of_executed_units:\s*(\d+)", found.stderr)
    return int(executions.group(1)) if executions else 0, "" if found.returncode == 0 else found.stderr[-4000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="time of each target (default 10)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time (default 1)")
    parser.add_argument("--targets", help="names separated by commas (default all that have seeds and a program)")
    parser.add_argument("--sanitizer", default="address", choices=["address", "none"], help="none is four times as fast (default address)")
    parser.add_argument("--no-models", action="store_true", help="leave out saved models, which compile for long")
    parser.add_argument("--longest", type=int, default=65536, metavar="BYTES", help="of inputs (default 65536)")
    parser.add_argument("--programs", type=Path, help="folder with compiled programs (default: compile them)")
    options = parser.parse_args()
    programs = options.programs
    if not programs:
        programs = build(options.sanitizer, not options.no_models)
        subprocess.run([programs / "seeds"], check=True)
    has_program = {name: (programs / name).is_file() for name in OF_MODELS}
    targets = options.targets.split(",") if options.targets else sorted(folder.name for folder in (FOLDER / "corpus").iterdir())
    targets = [target for target in targets if target != "seeds" and has_program.get(target, True)]
    start, failed, total = time.time(), [], 0
    print("| target | executions |\n|---|---:|", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = pool.map(lambda target: fuzz(target, programs.resolve(), round(60 * options.minutes), options.longest), targets)
        for target, (executions, finding) in zip(targets, runs):
            total += executions
            print(f"| {target} | {executions:,} |", flush=True)
            if finding:
                failed.append(target)
                print(finding, file=sys.stderr, flush=True)
    print(f"| all | {total:,} |\n\n{len(failed)} targets with findings {' '.join(failed)}in {time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
