"""Times prediction and labelling without an engine, on Spark and on Ray. Results: docs/measurements/scale.md.

    python tools/bench_engines.py rows OUT [--rows 10000000]
    python tools/bench_engines.py predict local|spark|ray ROWS OUT [--steps 4] [--width 32]
    python tools/bench_engines.py label local|spark|ray VOTES OUT

`rows` writes Parquet files of 32 features. `predict` trains a small flow (not timed), predicts all rows on two cores and writes labels
as Parquet. `label` fits Dawid and Skene's model to the votes of `labelflow data synth votes` and labels them. Spark runs as
local-cluster with two executors of one core. It reports seconds, processor seconds and the largest memory of all
processes together, without the start of the engine. Needs Linux, labelflow, pyarrow, and pyspark or ray.
"""

import argparse
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

import labelflow

N_FEATURES = 32
NAMES = [f"x{place}" for place in range(N_FEATURES)]
#: Seconds between two looks at the processes.
_PERIOD = 0.5


class Watch:
    """Seconds, processor seconds and memory of this process and its children."""

    def __enter__(self):
        self.peak, self._over = 0, threading.Event()
        self._used: dict[int, float] = {}
        self._look()
        self._before = sum(self._used.values())
        self._start = time.monotonic()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self._start
        self._over.set()
        self._thread.join()
        self._look()
        self.processor_seconds = sum(self._used.values()) - self._before

    def _keep_looking(self):
        while not self._over.wait(_PERIOD):
            self._look()

    def _look(self):
        parents, memory = {}, {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(name)] = int(fields[1])
            ticks = os.sysconf("SC_CLK_TCK")
            memory[int(name)] = (int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), (int(fields[11]) + int(fields[12])) / ticks)
        total = 0
        for process in parents:
            ancestor = process
            while ancestor not in (0, os.getpid()):
                ancestor = parents.get(ancestor, 0)
            if ancestor:
                total += memory[process][0]
                self._used[process] = memory[process][1]
        self.peak = max(self.peak, total)


def write_rows(out, n_rows, n_parts=40):
    out.mkdir(parents=True)
    per_part = n_rows // n_parts
    for part in range(n_parts):
        rng = np.random.default_rng(part)
        features = rng.normal(size=(per_part, N_FEATURES)).astype(np.float32)
        ids = np.arange(part * per_part, (part + 1) * per_part)
        table = pa.table({"id": ids, **dict(zip(NAMES, features.T))})
        pa.parquet.write_table(table, out / f"part-{part:03}.parquet", row_group_size=1 << 17, compression="none", use_dictionary=False)


def flow(steps, width):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, N_FEATURES)).astype(np.float32)
    truth = (features[:, :4].sum(axis=1) > 0).astype(int)
    votes = np.where(rng.random((4000, 6)) < 0.2, 1 - truth[:, None], truth[:, None])
    return labelflow.LabelFlowClassifier(preset="paper", max_epochs=5, n_steps=steps, d_hidden=width).fit(features, votes)


def spark_session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "1536m",
        "spark.ui.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.files.maxPartitionBytes": "64m",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1536]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    # Starts executors and their workers before the clock.
    session.range(0, 1000, 1, 4).mapInArrow(lambda batches: batches, "id long").count()
    return session


def ray_cluster():
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray is given a third core for tasks that read and write, which would otherwise take one from the two actors.
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=2 << 30)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.range(1000).map_batches(lambda batch: batch).count()
    return ray


def write_stream(reader, path):
    with pa.parquet.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def predict(engine, model, rows, out, votes=None):
    """Fits the model to votes if there are any, then predicts all rows."""
    if engine == "local":
        stored = pa.dataset.dataset(rows, format="parquet")
        with Watch() as watch:
            if votes:
                model.fit_counts(labelflow.count_votes(stored.to_batches(columns=votes), votes))
            # Few batches ahead, since memory is compared too.
            batches = stored.to_batches(batch_size=1 << 16, batch_readahead=2, fragment_readahead=1)
            write_stream(model.predict_batches(batches, keep=None if votes else ["id"]), out)
        return watch
    if engine == "spark":
        from labelflow import spark as on_spark

        session = spark_session()
        with Watch() as watch:
            frame = session.read.parquet(str(rows))
            if votes:
                on_spark.fit(model, frame, votes=votes)
            on_spark.predict(model, frame, keep=None if votes else ["id"]).write.parquet(str(out))
        session.stop()
        return watch
    ray = ray_cluster()
    from labelflow import ray as on_ray

    with Watch() as watch:
        dataset = ray.data.read_parquet(str(rows))
        if votes:
            on_ray.fit(model, dataset, votes=votes)
        on_ray.predict(model, dataset, keep=None if votes else ["id"]).write_parquet(str(out))
    ray.shutdown()
    return watch


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    rows = commands.add_parser("rows")
    rows.add_argument("out", type=Path)
    rows.add_argument("--rows", type=int, default=10_000_000)
    for name in ("predict", "label"):
        timed = commands.add_parser(name)
        timed.add_argument("engine", choices=["local", "spark", "ray"])
        timed.add_argument("rows", type=Path)
        timed.add_argument("out", type=Path)
        timed.add_argument("--steps", type=int, default=4)
        timed.add_argument("--width", type=int, default=32)
    given = parser.parse_args()
    if given.command == "rows":
        return write_rows(given.out, given.rows)
    stored = pa.dataset.dataset(given.rows, format="parquet")
    n_rows = stored.count_rows()
    if given.command == "predict":
        watch = predict(given.engine, flow(given.steps, given.width), given.rows, given.out)
    else:
        watch = predict(given.engine, labelflow.DawidSkene(), given.rows, given.out, votes=stored.schema.names)
    n_written = pa.dataset.dataset(given.out, format="parquet").count_rows()
    assert n_written == n_rows, f"{n_written} of {n_rows} rows"
    print(
        f"{given.command} {given.engine}: {n_rows} rows, {watch.seconds:.1f} s, {n_rows / watch.seconds:,.0f} rows a second, "
        f"{watch.processor_seconds:.1f} processor seconds, {n_rows / watch.processor_seconds:,.0f} rows a processor second, "
        f"load {os.getloadavg()[0]:.1f}, largest memory {watch.peak / 1e6:,.0f} MB"
    )


if __name__ == "__main__":
    main()
