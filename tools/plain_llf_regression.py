"""The label learning flow for regression in plain PyTorch, to compare labelflow with.

Eight affine maps, each with one network for the scale and one for the shift, evaluated one
after the other. Trains on random data, times epochs and predictions, and prints one line of JSON. The
bench crates/labelflow/benches/peers.rs with `--task regression` takes the same arguments and measures
the same for labelflow; tools/bench_peers.py runs both.

Run with `python3 tools/plain_llf_regression.py --rows 6951 --features 12 --epochs 20`. It needs torch;
peak memory is read from Linux.
"""

import json
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softsign

from plain_llf import (
    FLOOR,
    LEARNING_RATE,
    LEARNING_RATE_DECAY,
    LEARNING_RATE_FLOOR,
    MAX_GRADIENT_NORM,
    N_PREDICTIONS,
    Clock,
    parse_arguments,
    peak_megabytes,
    random_features,
    resident_megabytes,
)

N_STEPS = 8
N_RULES = 5
D_HIDDEN = 64
ABOVE, BELOW = 0.6, 0.4
PENALTY = 10.0


def network(d_features: int) -> nn.Sequential:
    """Three linear layers; the last one starts close to zero."""
    last = nn.Linear(D_HIDDEN, 1)
    nn.init.normal_(last.weight, std=0.01)
    nn.init.zeros_(last.bias)
    first, second = nn.Linear(d_features, D_HIDDEN), nn.Linear(D_HIDDEN, D_HIDDEN)
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), last)


class AffineMap(nn.Module):
    def __init__(self, d_features: int) -> None:
        super().__init__()
        self.scale = network(d_features)
        self.shift = network(d_features)

    def forward(self, labels: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        squared = FLOOR + torch.exp(softsign(self.scale(features)))
        return labels * squared.sqrt() + self.shift(features), 0.5 * squared.log()


class LabelFlow(nn.Module):
    def __init__(self, d_features: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(AffineMap(d_features) for _ in range(N_STEPS))

    def forward(self, noise: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        labels, log_det = noise, torch.zeros_like(noise)
        for step in self.maps:
            labels, change = step(labels, features)
            log_det = log_det + change
        return labels, log_det


def loss_of(noise: Tensor, labels: Tensor, log_det: Tensor, shares: Tensor, means: Tensor) -> Tensor:
    log_prob = -0.5 * noise.square() - 0.5 * math.log(2 * math.pi) - log_det
    outside = torch.relu(-labels).square().mean() + torch.relu(labels - 1).square().mean()
    rules = (shares @ labels - means).square().sum()
    return -log_prob.mean() / math.log(2) + PENALTY * (outside + rules)


def rules_of(features: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of the labels above and below zero of each of the first features."""
    above = (features[:, :N_RULES] >= 0).T.to(features.dtype)
    groups = torch.cat([above, 1 - above])
    shares = groups / groups.sum(1, keepdim=True)
    means = torch.tensor([ABOVE] * len(above) + [BELOW] * len(above), device=features.device)
    return shares, means[:, None]


def train(flow: LabelFlow, features: Tensor, n_epochs: int) -> tuple[list, list]:
    """Trains on all rows at once; returns the loss and the milliseconds of every epoch."""
    shares, means = rules_of(features)
    optimizer = torch.optim.Adam(flow.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, LEARNING_RATE_DECAY)
    losses, times = [], []
    clock = Clock(features.device)
    for _ in range(n_epochs):
        noise = torch.randn(len(features), 1, device=features.device)
        loss = loss_of(noise, *flow(noise, features), shares, means)
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
def time_predictions(flow: LabelFlow, features: Tensor, n_samples: int) -> float:
    """The median time of the mean of samples, after one that does not count."""

    def predict() -> Tensor:
        draws = (torch.randn(len(features), 1, device=features.device) for _ in range(n_samples))
        return torch.stack([flow(noise, features)[0].clamp(0, 1) for noise in draws]).mean(0)

    predict()
    clock, times = Clock(features.device), []
    for _ in range(N_PREDICTIONS):
        predict()
        times.append(clock.lap())
    return sorted(times)[len(times) // 2]


def main() -> None:
    memory_at_start = resident_megabytes()
    arguments = parse_arguments()
    if arguments.threads > 0:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    random = torch.Generator().manual_seed(arguments.seed)
    device = torch.device(arguments.device)

    features = random_features(arguments.rows, arguments.features, random).to(device)
    flow = LabelFlow(arguments.features).to(device)
    losses, times = train(flow, features, arguments.warmup + arguments.epochs)
    predict_ms = None
    if arguments.predict_rows > 0:
        new_rows = random_features(arguments.predict_rows, arguments.features, random).to(device)
        predict_ms = time_predictions(flow, new_rows, arguments.samples)
    counted = sorted(times[arguments.warmup :])
    print(json.dumps({
        "program": "pytorch",
        "rows": arguments.rows,
        "features": arguments.features,
        "epoch_ms": counted[len(counted) // 2],
        "predict_ms": predict_ms,
        "peak_mb": peak_megabytes() - memory_at_start,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "device": arguments.device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
