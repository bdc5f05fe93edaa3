"""The label learning flow for two classes in plain PyTorch, to compare labelflow with.

Every network is a separate module, evaluated one after the other, and every sample of a
prediction is a full pass, as in the program that the paper's authors published. Trains on random
data, times epochs and predictions, and prints one line of JSON. The bench
crates/labelflow/benches/peers.rs takes the same arguments and measures the same for labelflow;
tools/bench_peers.py runs both.

Run with `python3 tools/plain_llf.py --rows 228 --features 30 --epochs 100`. It needs torch; peak
memory is read from Linux.
"""

import argparse
import json
import math
import resource
import statistics
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import softsign

N_STEPS = 8
N_CLASSES = 2
N_SIGNALS = 3
D_HIDDEN = 64
BOUND = 0.3
STEEPNESS = 2.0
PENALTY = 10.0
FLOOR = 1e-6
LEARNING_RATE = 1e-3
LEARNING_RATE_DECAY = 0.996
LEARNING_RATE_FLOOR = 0.01
MAX_GRADIENT_NORM = 1000.0
N_PREDICTIONS = 5


def nearly_zero(d_input: int, d_output: int) -> nn.Linear:
    """A layer with which the flow starts close to the identity."""
    linear = nn.Linear(d_input, d_output)
    nn.init.normal_(linear.weight, std=0.01)
    nn.init.zeros_(linear.bias)
    return linear


class FeatureNetwork(nn.Module):
    """Features in, a gain or an offset of the hidden labels out."""

    def __init__(self, d_features: int) -> None:
        super().__init__()
        self.first = nn.Linear(d_features, D_HIDDEN, bias=False)
        self.norm = nn.BatchNorm1d(D_HIDDEN)
        self.activation = nn.SiLU()
        self.second = nearly_zero(D_HIDDEN, D_HIDDEN)

    def forward(self, features: Tensor) -> Tensor:
        return self.second(self.activation(self.norm(self.first(features))))


class LabelNetwork(nn.Module):
    """The kept label in, hidden labels out."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(N_CLASSES - 1, D_HIDDEN, bias=False)
        self.first_norm = nn.BatchNorm1d(D_HIDDEN)
        self.activation = nn.SiLU()
        self.second = nn.Linear(D_HIDDEN, D_HIDDEN)
        self.second_norm = nn.BatchNorm1d(D_HIDDEN, affine=False)

    def forward(self, kept: Tensor) -> Tensor:
        hidden = self.activation(self.first_norm(self.first(kept)))
        return self.second_norm(self.second(hidden))


class Head(nn.Module):
    """The scale, or the shift, of the warped label, from the kept label and the features."""

    def __init__(self, d_features: int) -> None:
        super().__init__()
        self.gain = FeatureNetwork(d_features)
        self.offset = FeatureNetwork(d_features)
        self.labels = LabelNetwork()
        self.activation = nn.SiLU()
        self.merge = nearly_zero(D_HIDDEN, 1)

    def forward(self, kept: Tensor, features: Tensor) -> Tensor:
        gain = torch.exp(self.gain(features)) + FLOOR
        hidden = gain * self.labels(kept) + self.offset(features)
        return self.merge(self.activation(hidden))


class Coupling(nn.Module):
    """Scales and shifts one label, given the other one and the features."""

    def __init__(self, d_features: int, warped: int) -> None:
        super().__init__()
        self.scale = Head(d_features)
        self.shift = Head(d_features)
        self.warped = warped

    def forward(self, noise: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        labels = list(noise.split(1, dim=1))
        kept = labels[1 - self.warped]
        scale = torch.sqrt(torch.exp(softsign(self.scale(kept, features))) + FLOOR)
        labels[self.warped] = scale * labels[self.warped] + self.shift(kept, features)
        return torch.cat(labels, dim=1), torch.log(scale).squeeze(1)


class LabelFlow(nn.Module):
    """Turns noise into labels, one coupling after the other."""

    def __init__(self, d_features: int) -> None:
        super().__init__()
        warped = [label for _ in range(N_STEPS) for label in range(N_CLASSES)]
        self.couplings = nn.ModuleList(Coupling(d_features, label) for label in warped)

    def forward(self, noise: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        labels, log_det = noise, noise.new_zeros(len(noise))
        for coupling in self.couplings:
            labels, log_scale = coupling(labels, features)
            log_det = log_det + log_scale
        return labels, log_det


def likelihood(noise: Tensor, log_det: Tensor) -> Tensor:
    """The negative log-likelihood of the labels in bits per dimension."""
    base = 0.5 * noise.square().sum(dim=1) + 0.5 * N_CLASSES * math.log(2 * math.pi)
    return (base + log_det).mean() / (N_CLASSES * math.log(2))


def violations(labels: Tensor, signals: Tensor) -> Tensor:
    """Range, sum to one, error bound: zero where all of them hold."""
    below = torch.relu(-labels).square().sum(dim=1).mean()
    above = torch.relu(labels - 1).square().sum(dim=1).mean()
    total = (labels.sum(dim=1) - 1).square().mean()
    labels = labels.unsqueeze(1)
    error = (signals + labels - 2 * signals * labels).mean(dim=0)
    return below + above + total + torch.relu(error - BOUND).square().sum()


def random_features(n_rows: int, d_features: int, random: torch.Generator) -> Tensor:
    return torch.randn(n_rows, d_features, generator=random)


def signals_of(features: Tensor) -> Tensor:
    """Labelers that see one column each: the first, the middle and the last.

    Shape: [n_rows, n_signals, n_classes].
    """
    last = features.shape[1] - 1
    seen = features[:, [last * signal // (N_SIGNALS - 1) for signal in range(N_SIGNALS)]]
    class1 = torch.sigmoid(STEEPNESS * seen)
    return torch.stack([1 - class1, class1], dim=2)


class Clock:
    """Milliseconds since the last call, after the device has finished its work."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.last = time.perf_counter()

    def lap(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        now = time.perf_counter()
        milliseconds, self.last = 1000 * (now - self.last), now
        return milliseconds


def train(flow: LabelFlow, features: Tensor, signals: Tensor, n_epochs: int) -> tuple[list, list]:
    """Trains on all rows at once; returns the loss and the milliseconds of every epoch."""
    optimizer = torch.optim.Adam(flow.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, LEARNING_RATE_DECAY)
    losses, times = [], []
    flow.train()
    clock = Clock(features.device)
    for _ in range(n_epochs):
        noise = torch.randn(len(features), N_CLASSES, device=features.device)
        labels, log_det = flow(noise, features)
        loss = likelihood(noise, log_det) + PENALTY * violations(labels, signals)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(flow.parameters(), MAX_GRADIENT_NORM)
        if torch.isfinite(norm):
            optimizer.step()
        if schedule.get_last_lr()[0] > LEARNING_RATE_FLOOR * LEARNING_RATE:
            schedule.step()
        losses.append(loss.item())
        times.append(clock.lap())
    return losses, times


@torch.no_grad()
def predict(flow: LabelFlow, features: Tensor, n_samples: int) -> Tensor:
    """The mean of samples; running statistics, so that rows do not depend on each other."""
    flow.eval()
    total = torch.zeros(len(features), N_CLASSES, device=features.device)
    for _ in range(n_samples):
        noise = torch.randn(len(features), N_CLASSES, device=features.device)
        total += flow(noise, features)[0].clamp(0, 1)
    return (total / n_samples).cpu()


def time_predictions(flow: LabelFlow, features: Tensor, n_samples: int) -> float:
    """The median time of a prediction, after one that does not count."""
    predict(flow, features, n_samples)
    clock, times = Clock(features.device), []
    for _ in range(N_PREDICTIONS):
        predict(flow, features, n_samples)
        times.append(clock.lap())
    return statistics.median(times)


def resident_megabytes() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS in /proc/self/status: this needs Linux")


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=228, help="rows to train on")
    parser.add_argument("--features", type=int, default=30, help="columns of the features")
    parser.add_argument("--epochs", type=int, default=20, help="epochs that count")
    parser.add_argument("--warmup", type=int, default=2, help="epochs before them")
    parser.add_argument("--predict-rows", type=int, default=0, help="rows to label; 0: none")
    parser.add_argument("--samples", type=int, default=10, help="samples of a prediction")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are cores")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    # The memory of importing torch is not part of the comparison.
    memory_at_start = resident_megabytes()
    arguments = parse_arguments()
    if arguments.threads > 0:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    random = torch.Generator().manual_seed(arguments.seed)
    device = torch.device(arguments.device)

    features = random_features(arguments.rows, arguments.features, random).to(device)
    flow = LabelFlow(arguments.features).to(device)
    n_epochs = arguments.warmup + arguments.epochs
    losses, times = train(flow, features, signals_of(features), n_epochs)
    predict_ms = None
    if arguments.predict_rows > 0:
        new_rows = random_features(arguments.predict_rows, arguments.features, random).to(device)
        predict_ms = time_predictions(flow, new_rows, arguments.samples)

    peak = peak_megabytes()
    print(json.dumps({
        "program": "pytorch",
        "rows": arguments.rows,
        "features": arguments.features,
        "epoch_ms": statistics.median(times[arguments.warmup:]),
        "predict_ms": predict_ms,
        "peak_mb": peak - memory_at_start,
        "peak_raw_mb": peak,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "device": arguments.device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
