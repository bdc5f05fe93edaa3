"""Ctrl-C stops a fit within a second and leaves the model as it was."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

PROGRAM = """
    import numpy as np, sys
    import labelflow

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20)).astype(np.float32)
    votes = (X[:, :5] > 0).astype(int)
    model = labelflow.LabelFlowClassifier(max_epochs=1, batch_size=1024, bounds=0.2).fit(X[:100], votes[:100])
    before = model.predict_proba(X[:10])
    model.set_params(max_epochs=100_000)
    print("started", flush=True)
    try:
        {work}
    except KeyboardInterrupt:
        assert np.array_equal(before, model.predict_proba(X[:10]))
        print("stopped", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize(
    "work",
    [
        "model.fit(X, votes)",
        "labelflow.LabelFlowRegressor(max_epochs=10**5, batch_size=1024, tolerance=0.0).fit(X, X[:, 0])",
        "labelflow.PointCloudCompleter(preset='small', max_epochs=10**6).fit([X[:500, :3]] * 8, [X[:100, :3]] * 8)",
        "labelflow.MinimaxEntropy(max_iterations=10**9, tolerance=1e-300).fit(rng.integers(-1, 5, size=(50_000, 50)))",
    ],
    ids=["flow", "regression", "completion", "label model"],
)
def test_ctrl_c(work):
    program = textwrap.dedent(PROGRAM).format(work=work)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "started\n", process.stderr.read()
        time.sleep(1.0)
        start = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "stopped\n", process.stderr.read()
        assert time.monotonic() - start < 1.0
        process.kill()
