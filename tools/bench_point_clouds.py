"""Compares the minimum matching distance with scipy's, on the same clouds in one run.

    python3 tools/bench_point_clouds.py --labelflow target/release/labelflow

Makes 100 references and 1,000 clouds of 2,048 points of synthetic chairs, lets `labelflow metrics` compare them (reading the files included),
and computes a part of the same with scipy's cKDTree on as many threads; the rest of scipy's time is extrapolated.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree


def chairs(labelflow, folder, n_shapes):
    subprocess.run(
        [labelflow, "data", "synth", "chairs", "--rows", str(n_shapes), "--out", folder / "chairs"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    layout = np.dtype([("point", "<f4", 3), ("part", "<u4")])
    for path in sorted((folder / "chairs" / "data").glob("chair-train-*/point_sample/ply-10000.ply")):
        data = path.read_bytes()
        start = data.index(b"end_header\n") + len(b"end_header\n")
        yield np.frombuffer(data[start:], layout)["point"].astype(np.float64) / 2


def chamfer(one, other, tree_of_one, tree_of_other, threads):
    there = tree_of_other.query(one, workers=threads)[0]
    back = tree_of_one.query(other, workers=threads)[0]
    return (there**2).mean() + (back**2).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labelflow", required=True)
    parser.add_argument("--references", type=int, default=100)
    parser.add_argument("--clouds", type=int, default=1000)
    parser.add_argument("--points", type=int, default=2048)
    parser.add_argument("--scipy-references", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shapes = list(chairs(args.labelflow, folder, args.references + args.clouds))
        clouds = [shape[random.integers(len(shape), size=args.points)] for shape in shapes]
        for name, part in [("references", clouds[: args.references]), ("clouds", clouds[args.references :])]:
            (folder / name).mkdir()
            for index, cloud in enumerate(part):
                np.save(folder / name / f"{index:04}.npy", cloud.astype(np.float32))
        command = [args.labelflow, "metrics", folder / "clouds", folder / "references", "--json", folder / "out.json"]
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        ours = time.perf_counter() - start
        mmd = json.loads((folder / "out.json").read_text())["mmd"]

    references, others = clouds[: args.scipy_references], clouds[args.references :]
    start = time.perf_counter()
    trees = [cKDTree(cloud) for cloud in others]
    building = time.perf_counter() - start
    start = time.perf_counter()
    for reference in references:
        tree = cKDTree(reference)
        min(chamfer(reference, cloud, tree, other, args.threads) for cloud, other in zip(others, trees))
    part = time.perf_counter() - start
    theirs = building + part * args.references / args.scipy_references
    print(f"MMD of {args.references} references and {args.clouds} clouds of {args.points} points: {mmd:.6f}")
    print(f"labelflow metrics: {ours:.2f} s, with reading the files")
    print(f"scipy: {theirs:.1f} s, from {args.scipy_references} references in {part:.1f} s")
    print(f"ratio: {theirs / ours:.1f}")


if __name__ == "__main__":
    main()
