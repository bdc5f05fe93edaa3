#!/usr/bin/env python3
"""Train the label model `hyper` on synthetic votes, and write its weights and known answers for its test.

    python tools/hyper_model/train.py [--steps 2000] [--seed 1]

Needs PyTorch; `make hyper-model` installs it in a cache folder. Under three minutes on an H200, some hours on two cores.

A step draws a batch of problems (`synthetic_votes.py`) and lowers, over all rounds of the network (`model.py`), the log loss of the true classes.
A problem on which the network is worse than a majority vote, given the best temperature for that problem in hindsight, counts many times: where
votes cannot tell, nothing is better than doing as the majority does.
"""

import argparse
import json
import math
from pathlib import Path

import torch
from model import Hyper
from synthetic_votes import make, majority
from torch.nn.functional import one_hot

ROOT = Path(__file__).resolve().parents[2] / "crates/labelflow-weak"
WEIGHTS = ROOT / "src/label_models/models/hyper/weights.f32"
ANSWERS = ROOT / "tests/golden/hyper.json"
REGRET = 10.0
TEMPERATURES = (0.3, 0.6, 1.0, 1.7, 3.0)
CLASSES = (2, 2, 2, 2, 3, 4, 5, 6, 8, 10, 16, 30)


class Sizes:
    """Numbers of rows, labelers, classes and problems of a batch."""

    def __init__(self, seed, cells):
        self.rng, self.cells = torch.Generator().manual_seed(seed), cells

    def uniform(self):
        return torch.rand(1, generator=self.rng).item()

    def log_uniform(self, low, high):
        return math.exp(math.log(low) + (math.log(high) - math.log(low)) * self.uniform())

    def draw(self):
        n_classes = CLASSES[int(torch.randint(0, len(CLASSES), (1,), generator=self.rng))]
        n_labelers = int(self.log_uniform(3, 80 if n_classes < 6 else 40))
        n_rows = int(self.log_uniform(60, 3000))
        n_problems = int(max(2, min(96, self.cells / (n_rows * n_labelers * (n_classes + 1)))))
        return n_problems, n_rows, n_labelers, n_classes


def loss_of(net, problems, n_classes, sizes):
    """The mean loss of a batch, and the log probabilities of the last round."""
    device = problems.votes.device
    n_problems, n_rows = problems.classes.shape
    known = torch.full((n_problems, n_rows), -1, device=device)
    if sizes.uniform() < 0.2:
        share = sizes.log_uniform(0.005, 0.3) * (torch.rand(n_problems, 1, device=device) < 0.7)
        known = torch.where(torch.rand(n_problems, n_rows, device=device) < share, problems.classes, -1)
    balance = None
    if sizes.uniform() < 0.3:
        is_given = torch.rand(n_problems, 1, device=device) < 0.5
        balance = torch.where(is_given, problems.balance, math.nan)
    answers = net(problems.votes, n_classes, balance, known)

    voted = ((problems.votes >= 0).any(2) & (known < 0)).float()
    # Rows without a vote get the class balance, which should be right as well.
    judged = (0.1 + 0.9 * voted) * (known < 0)

    def log_loss(log_p, weights):
        of_truth = torch.gather(log_p, 2, problems.classes[..., None])[..., 0]
        return -(of_truth * weights).sum(1) / weights.sum(1).clamp(min=1)

    losses = [log_loss(answer, judged) for answer in answers]
    loss = sum(0.5 ** (len(losses) - round) * loss for round, loss in enumerate(losses))
    counts = one_hot(problems.votes + 1, n_classes + 1)[..., 1:].sum(2).float()
    of_majority = torch.stack([log_loss((scale * counts).log_softmax(2), voted) for scale in TEMPERATURES]).min(0).values
    regret = torch.relu(log_loss(answers[-1], voted) - of_majority)
    return (loss + REGRET * regret).mean(), answers[-1]


def train(steps, seed, cells, learning_rate):
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net, sizes = Hyper().to(device), Sizes(seed, cells)
    averaged = {name: value.detach().clone() for name, value in net.state_dict().items()}
    adam = torch.optim.AdamW(net.parameters(), lr=learning_rate, weight_decay=1e-3, betas=(0.9, 0.98))
    accuracy = []
    for step in range(steps):
        rate = min(1, step / 200) * (0.5 * (1 + math.cos(math.pi * step / steps)) + 0.01)
        for group in adam.param_groups:
            group["lr"] = learning_rate * rate
        n_problems, n_rows, n_labelers, n_classes = sizes.draw()
        problems = make(n_problems, n_rows, n_labelers, n_classes, device)
        loss, log_p = loss_of(net, problems, n_classes, sizes)
        adam.zero_grad()
        loss.backward()
        if torch.isfinite(torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)):
            adam.step()
        memory = min(0.99, (1 + step) / (10 + step))
        with torch.no_grad():
            for name, value in net.state_dict().items():
                averaged[name].mul_(memory).add_(value, alpha=1 - memory)
            voted = (problems.votes >= 0).any(2)
            right = ((log_p.argmax(2) == problems.classes) & voted).sum(1) / voted.sum(1).clamp(min=1)
            accuracy.append((right.mean().item(), majority(problems, n_classes).mean().item()))
        if (step + 1) % 100 == 0:
            ours, others = (100 * sum(column) / 100 for column in zip(*accuracy[-100:]))
            print(f"step {step + 1}: accuracy {ours:.2f} %, majority vote {others:.2f} %", flush=True)
    net.load_state_dict(averaged)
    return net.cpu()


def tensors(net):
    """Weights and biases in the order in which `network.rs` reads them."""
    yield net.start
    for part in (net.cell, net.context, [net.weight], net.balance, net.row):
        for layer in part:
            if isinstance(layer, torch.nn.Linear):
                yield layer.weight
                yield layer.bias


def read(path):
    """A network with the weights of a file."""
    net = Hyper()
    numbers = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float32)
    with torch.no_grad():
        for tensor in tensors(net):
            own, numbers = numbers[: tensor.numel()], numbers[tensor.numel() :]
            tensor.copy_(own.reshape(tensor.shape))
    return net


def known_answers(net):
    """Small problems and what the network says of them, in double precision."""
    torch.manual_seed(3)
    net = net.double()
    cases = []
    for n_classes, n_labelers, n_rows, has_balance, has_known in [(2, 5, 30, 0, 0), (4, 6, 40, 0, 0), (3, 4, 30, 1, 0), (2, 7, 40, 0, 1)]:
        problems = make(1, n_rows, n_labelers, n_classes, "cpu")
        problems.votes[0, 0] = -1
        known = torch.full((1, n_rows), -1)
        if has_known:
            known[0, 5:15] = problems.classes[0, 5:15]
        balance = problems.balance.double() / problems.balance.double().sum() if has_balance else None
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            p = net(problems.votes, n_classes, balance, known)[-1][0].exp()
        torch.set_default_dtype(torch.float32)
        cases.append(
            {
                "n_classes": n_classes,
                "votes": problems.votes[0].tolist(),
                "balance": balance[0].tolist() if has_balance else None,
                "known": known[0].tolist(),
                "p": [[round(value, 9) for value in row] for row in p.tolist()],
            }
        )
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000, help="batches (default 2000)")
    parser.add_argument("--seed", type=int, default=1, help="of weights and problems (default 1)")
    parser.add_argument("--cells", type=int, default=2_000_000, help="votes times classes in a batch, about (default 2,000,000)")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="largest step size of Adam (default 0.001)")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="where to write the weights")
    parser.add_argument("--answers", type=Path, default=ANSWERS, help="where to write known answers")
    parser.add_argument("--answers-alone", action="store_true", help="train nothing: known answers of the weights that are there")
    options = parser.parse_args()
    if options.answers_alone:
        net = read(options.weights)
    else:
        net = train(options.steps, options.seed, options.cells, options.learning_rate)
        torch.cat([tensor.detach().reshape(-1) for tensor in tensors(net)]).numpy().astype("<f4").tofile(options.weights)
    options.answers.write_text(json.dumps(known_answers(net)) + "\n")
    print(f"{options.weights} and {options.answers} belong together")


if __name__ == "__main__":
    main()
