"""Reference values for the label learning flow, computed with PyTorch in float64.

Builds the classification flow from seeded random weights, evaluates the loss, its terms and all
gradients once, trains for 20 full-batch steps, and writes one safetensors file per case to
crates/labelflow/tests/golden/. The Rust tests load the same weights and noise from these files and
must reproduce the rest.

Run with `python3 tools/golden.py`. It needs torch, numpy and safetensors from the package index,
installed in a virtual environment outside the repository. The tests never run this program; they
only read the files it wrote.
"""

import math
import platform
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import silu

GOLDEN = Path(__file__).resolve().parent.parent / "crates" / "labelflow" / "tests" / "golden"
TRAINING_STEPS = 20
LEARNING_RATE = 1e-3
LEARNING_RATE_DECAY = 0.996
MAX_GRADIENT_NORM = 1000.0
PENALTY = 10.0
SCALE_FLOOR = 1e-6
NORM_EPSILON = 1e-5
NORM_MOMENTUM = 0.1

Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Case:
    name: str
    seed: int
    classes: int
    features: int
    width: int
    steps: int
    rows: int
    labelers: int
    hard_votes: bool

    @property
    def couplings(self) -> int:
        return self.steps * self.classes


# Seeds picked so that a float32 implementation can follow the run (no near-degenerate batch norm).
CASES = [
    Case("k2", seed=20, classes=2, features=5, width=8, steps=2, rows=12, labelers=3, hard_votes=False),
    Case("k3", seed=6, classes=3, features=4, width=6, steps=2, rows=10, labelers=4, hard_votes=True),
]


def normal(random: torch.Generator, *shape: int, std: float = 1.0, mean: float = 0.0) -> Tensor:
    return mean + std * torch.randn(*shape, generator=random, dtype=torch.float64)


def uniform(random: torch.Generator, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    return low + (high - low) * torch.rand(*shape, generator=random, dtype=torch.float64)


def linear_weight(random: torch.Generator, groups: int, inputs: int, outputs: int, std: float = 0.6) -> Tensor:
    return normal(random, groups, inputs, outputs, std=std / math.sqrt(inputs))


def random_weights(case: Case, random: torch.Generator) -> Tensors:
    """Weights of the whole flow, far enough from initialisation for the gradients to be informative.

    With two classes a coupling's first layer has a single input, which its batch norm rescales, so
    only the norm's epsilon gives it a gradient; small weights keep that above float32 rounding.
    """
    width, groups = case.width, 4 * case.couplings
    weights = {
        "bank.first.weight": linear_weight(random, groups, case.features, width),
        "bank.norm.scale": normal(random, groups, 1, width, mean=1.0, std=0.2),
        "bank.norm.shift": normal(random, groups, 1, width, std=0.2),
        "bank.second.weight": linear_weight(random, groups, width, width),
        "bank.second.bias": normal(random, groups, 1, width, std=0.2),
    }
    for index in range(case.couplings):
        prefix = f"couplings.{index}"
        weights |= {
            f"{prefix}.first.weight": linear_weight(random, 2, case.classes - 1, width, std=0.3),
            f"{prefix}.first_norm.scale": normal(random, 2, 1, width, mean=1.0, std=0.2),
            f"{prefix}.first_norm.shift": normal(random, 2, 1, width, std=0.2),
            f"{prefix}.second.weight": linear_weight(random, 2, width, width),
            f"{prefix}.second.bias": normal(random, 2, 1, width, std=0.2),
            f"{prefix}.merge.weight": linear_weight(random, 2, width, 1),
            f"{prefix}.merge.bias": normal(random, 2, 1, 1, std=0.2),
        }
    return weights


def initial_statistics(case: Case) -> Tensors:
    """Running mean 0 and variance 1 of every batch norm."""
    groups = {"bank.norm": 4 * case.couplings}
    for index in range(case.couplings):
        groups |= {f"couplings.{index}.first_norm": 2, f"couplings.{index}.second_norm": 2}
    statistics = {}
    for name, count in groups.items():
        statistics[f"{name}.running_mean"] = torch.zeros(count, 1, case.width, dtype=torch.float64)
        statistics[f"{name}.running_variance"] = torch.ones(count, 1, case.width, dtype=torch.float64)
    return statistics


def random_signals(case: Case, random: torch.Generator) -> Tensor:
    """Weak signals [n, m, k]: class probabilities, or one-hot votes with NaN where a labeler abstains."""
    if case.hard_votes:
        shape = (case.rows, case.labelers)
        votes = torch.randint(case.classes, shape, generator=random)
        signals = torch.nn.functional.one_hot(votes, case.classes).double()
        signals[uniform(random, *shape) < 1 / 3] = math.nan
        return signals
    logits = normal(random, case.rows, case.labelers, case.classes, std=1.5)
    return torch.softmax(logits, dim=2)


class Flow:
    """The generator z -> y given x; `first`, `norm`, `second` and `merge` are stacked over groups."""

    def __init__(self, weights: Tensors, statistics: Tensors, classes: int):
        self.weights = weights
        self.statistics = statistics
        self.classes = classes
        self.couplings = weights["bank.first.weight"].shape[0] // 4

    def generate(self, features: Tensor, noise: Tensor, training: bool) -> tuple[Tensor, Tensor]:
        """Labels [n, k] and log-determinant [n]."""
        gains, offsets = self.condition(features, training)
        labels, log_det = noise, torch.zeros_like(noise[:, 0])
        for index in range(self.couplings):
            warped = index % self.classes
            kept = [c for c in range(self.classes) if c != warped]
            scale, shift = self.couple(index, labels[:, kept], gains[index], offsets[index], training)
            columns = list(labels.unbind(dim=1))
            columns[warped] = scale * columns[warped] + shift
            labels = torch.stack(columns, dim=1)
            log_det = log_det + scale.log()
        return labels, log_det

    def condition(self, features: Tensor, training: bool) -> tuple[Tensor, Tensor]:
        """Gains W and offsets Bx of all couplings, each [L, 2, n, H]."""
        hidden = self.norm("bank.norm", features @ self.weights["bank.first.weight"], training)
        outputs = self.linear("bank.second", silu(hidden))
        outputs = outputs.unflatten(0, (self.couplings, 2, 2))
        return SCALE_FLOOR + outputs[:, 0].exp(), outputs[:, 1]

    def couple(self, index: int, kept: Tensor, W: Tensor, Bx: Tensor, training: bool) -> tuple[Tensor, Tensor]:
        """Scale and shift [n] of one warped class."""
        prefix = f"couplings.{index}"
        hidden = self.norm(f"{prefix}.first_norm", kept @ self.weights[f"{prefix}.first.weight"], training)
        hidden = self.linear(f"{prefix}.second", silu(hidden))
        U = self.standardise(f"{prefix}.second_norm", hidden, training)
        h = self.linear(f"{prefix}.merge", silu(W * U + Bx)).squeeze(2)
        log_scale = h[0] / (1 + h[0].abs())
        return torch.sqrt(SCALE_FLOOR + log_scale.exp()), h[1]

    def linear(self, name: str, values: Tensor) -> Tensor:
        return values @ self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def norm(self, name: str, values: Tensor, training: bool) -> Tensor:
        """Batch norm with learned scale and shift."""
        standard = self.standardise(name, values, training)
        return standard * self.weights[f"{name}.scale"] + self.weights[f"{name}.shift"]

    def standardise(self, name: str, values: Tensor, training: bool) -> Tensor:
        """Batch norm over rows (dimension 1); training uses and records the batch statistics."""
        mean = self.statistics[f"{name}.running_mean"]
        variance = self.statistics[f"{name}.running_variance"]
        if training:
            rows = values.shape[1]
            running_mean, running_variance = mean, variance
            mean = values.mean(dim=1, keepdim=True)
            variance = values.var(dim=1, keepdim=True, correction=0)
            running_mean.lerp_(mean.detach(), NORM_MOMENTUM)
            running_variance.lerp_(variance.detach() * rows / (rows - 1), NORM_MOMENTUM)
        return (values - mean) / torch.sqrt(variance + NORM_EPSILON)


def signal_errors(labels: Tensor, signals: Tensor) -> Tensor:
    """Mean disagreement [m, k] of each labeler with the labels, over the rows it voted on."""
    mask = ~signals.isnan()
    q = signals.nan_to_num()
    y = labels[:, None, :]
    return (mask * (q + y - 2 * q * y)).sum(dim=0) / (mask.sum(dim=0, dtype=q.dtype) + 1e-8)


def loss_terms(noise: Tensor, labels: Tensor, log_det: Tensor, signals: Tensor, bounds: Tensor) -> Tensor:
    """Unweighted terms: nll, range below, range above, sum to one, error bound."""
    classes = labels.shape[1]
    nats = 0.5 * noise.square().sum(dim=1) + 0.5 * classes * math.log(2 * math.pi) + log_det
    nll = (nats / (classes * math.log(2))).mean()
    below = (-labels).clamp(min=0).square().sum(dim=1).mean()
    above = (labels - 1).clamp(min=0).square().sum(dim=1).mean()
    sum_to_one = (labels.sum(dim=1) - 1).square().mean()
    error_bound = (signal_errors(labels, signals) - bounds).clamp(min=0).square().sum()
    return torch.stack([nll, below, above, sum_to_one, error_bound])


def total_loss(terms: Tensor) -> Tensor:
    return terms[0] + PENALTY * terms[1:].sum()


def prefixed(prefix: str, tensors: Tensors) -> Tensors:
    return {f"{prefix}/{name}": tensor.detach().clone() for name, tensor in tensors.items()}


def compute(case: Case) -> Tensors:
    """Everything the file of one case holds."""
    random = torch.Generator().manual_seed(case.seed)
    weights = random_weights(case, random)
    features = normal(random, case.rows, case.features)
    signals = random_signals(case, random)
    bounds = uniform(random, case.labelers, case.classes, low=0.2, high=0.8)
    noise = normal(random, TRAINING_STEPS, case.rows, case.classes)
    golden = {"features": features, "signals": signals, "bounds": bounds, "noise": noise}
    golden |= prefixed("weights", weights)

    parameters = list(weights.values())
    for parameter in parameters:
        parameter.requires_grad_()
    flow = Flow(weights, initial_statistics(case), case.classes)
    optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE, betas=(0.9, 0.999), eps=1e-8)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, LEARNING_RATE_DECAY)
    losses = []
    for step in range(TRAINING_STEPS):
        labels, log_det = flow.generate(features, noise[step], training=True)
        terms = loss_terms(noise[step], labels, log_det, signals, bounds)
        loss = total_loss(terms)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            check_hinges(signal_errors(labels, signals) - bounds)
            golden |= {"labels": labels, "log_det": log_det, "terms": terms, "loss": loss.reshape(1)}
            golden |= prefixed("gradients", {name: weight.grad for name, weight in weights.items()})
        losses.append(loss.detach())
        torch.nn.utils.clip_grad_norm_(parameters, MAX_GRADIENT_NORM)
        optimizer.step()
        schedule.step()

    golden["losses"] = torch.stack(losses)
    golden |= prefixed("final", weights | flow.statistics)
    golden["predicted"], _ = flow.generate(features, noise[0], training=False)
    return {name: tensor.detach().contiguous() for name, tensor in golden.items()}


def check_hinges(excess: Tensor) -> None:
    """The bounds must leave some hinges active and some not, none of them at the kink."""
    assert (excess > 0).any() and (excess < 0).any() and excess.abs().min() > 1e-3, excess


def main() -> None:
    torch.set_num_threads(1)
    GOLDEN.mkdir(parents=True, exist_ok=True)
    versions = f"python {platform.python_version()}, torch {torch.__version__}, numpy {numpy.__version__}"
    for case in CASES:
        golden = compute(case)
        save_file(golden, GOLDEN / f"{case.name}.safetensors", metadata={"versions": versions})
        print(f"{case.name}: loss {golden['loss'].item():.6f}, terms {golden['terms'].tolist()}")


if __name__ == "__main__":
    main()
