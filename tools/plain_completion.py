"""Plain PyTorch twin of the point cloud completer, for speed: one network after another, standard layers, no optimisation.

    python3 tools/plain_completion.py --steps 40 --device cuda

Random clouds of the paper's sizes; prints milliseconds per training step (generator and discriminator) and per completion.
"""

import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

EPSILON = 1e-6


class PointFeatures(nn.Module):
    def __init__(self, widths, bias, slope):
        super().__init__()
        pairs = list(zip([3, *widths], widths))
        self.linears = nn.ModuleList(nn.Linear(a, b, bias=bias) for a, b in pairs)
        self.norms = nn.ModuleList(nn.BatchNorm1d(b) for b in widths)
        self.slope = slope

    def forward(self, clouds):
        n_clouds, n_points, _ = clouds.shape
        hidden = clouds.reshape(n_clouds * n_points, 3)
        for linear, norm in zip(self.linears, self.norms):
            hidden = F.leaky_relu(norm(linear(hidden)), self.slope)
        return hidden.view(n_clouds, n_points, -1).max(1)[0]


class FeatureSide(nn.Module):
    """Gain or offset of a coupling's network, from what is known of the cloud."""

    def __init__(self, d_condition, width):
        super().__init__()
        self.first = nn.Linear(d_condition, width, bias=False)
        self.norm = nn.BatchNorm1d(width)
        self.second = nn.Linear(width, width)
        nn.init.normal_(self.second.weight, std=0.01)
        nn.init.zeros_(self.second.bias)

    def forward(self, condition):
        return self.second(F.silu(self.norm(self.first(condition))))


class Head(nn.Module):
    """The scale or the shift of a coupling."""

    def __init__(self, n_kept, n_warped, d_condition, width):
        super().__init__()
        self.first = nn.Linear(n_kept, width, bias=False)
        self.first_norm = nn.BatchNorm1d(width)
        self.second = nn.Linear(width, width, bias=False)
        self.second_norm = nn.BatchNorm1d(width, affine=False)
        self.gain = FeatureSide(d_condition, width)
        self.offset = FeatureSide(d_condition, width)
        self.merge = nn.Linear(width, n_warped)
        nn.init.normal_(self.merge.weight, std=0.01)
        nn.init.zeros_(self.merge.bias)

    def forward(self, kept, condition):
        n_clouds, n_points, n_kept = kept.shape
        hidden = F.relu(self.first_norm(self.first(kept.reshape(-1, n_kept))))
        hidden = self.second_norm(self.second(hidden)).view(n_clouds, n_points, -1)
        gain = EPSILON + self.gain(condition).exp()
        return self.merge(F.relu(gain[:, None] * hidden + self.offset(condition)[:, None]))


class Coupling(nn.Module):
    def __init__(self, warped, d_condition, width):
        super().__init__()
        self.warped = warped
        self.kept = [axis for axis in range(3) if axis not in warped]
        shape = (len(self.kept), len(warped), d_condition, width)
        self.scale, self.shift = Head(*shape), Head(*shape)

    def forward(self, points, condition):
        kept = points[..., self.kept]
        raw = self.scale(kept, condition)
        squared = EPSILON + (raw / (1 + raw.abs())).exp()
        moved = points.clone()
        moved[..., self.warped] = squared.sqrt() * points[..., self.warped] + self.shift(kept, condition)
        return moved, 0.5 * squared.log().sum(-1)


class Generator(nn.Module):
    def __init__(self, n_steps=8, width=64, d_latent=128, widths=(64, 128, 256, 512)):
        super().__init__()
        d_features = widths[-1]
        self.features = PointFeatures(list(widths), False, 0.0)
        self.hidden = nn.Linear(d_features, d_features, bias=False)
        self.norm = nn.BatchNorm1d(d_features)
        self.mean, self.log_variance = nn.Linear(d_features, d_latent), nn.Linear(d_features, d_latent)
        steps = [[[0], [1], [2]], [[0, 1], [0, 2], [1, 2]]]
        self.couplings = nn.ModuleList(
            Coupling(warped, d_latent + d_features, width)
            for step in range(n_steps)
            for warped in steps[step % 2]
        )

    def forward(self, partials, n_points):
        features = self.features(partials)
        hidden = F.silu(self.norm(self.hidden(features)))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden).clamp(-10, 10)
        latent = mean + (log_variance / 2).exp() * torch.randn_like(mean)
        condition = torch.cat([latent, features], 1)
        noise = torch.randn(len(partials), n_points, 3, device=partials.device)
        points, log_det = noise, 0.0
        for coupling in self.couplings:
            points, change = coupling(points, condition)
            log_det = log_det + change
        nats = 0.5 * noise.square().sum(-1) + 1.5 * math.log(2 * math.pi) + log_det
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean()
        return points, nats.mean() / (3 * math.log(2)), divergence


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = PointFeatures([64, 128, 128, 256, 128], True, 0.01)
        self.head = nn.Sequential(
            nn.Linear(128, 256), nn.LeakyReLU(), nn.Linear(256, 512), nn.LeakyReLU(), nn.Linear(512, 1)
        )

    def forward(self, clouds):
        return self.head(self.features(clouds))[:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--clouds", type=int, default=32)
    parser.add_argument("--partial-points", type=int, default=1024)
    parser.add_argument("--points", type=int, default=2048)
    args = parser.parse_args()
    torch.manual_seed(0)
    generator, discriminator = Generator().to(args.device), Discriminator().to(args.device)
    optimizers = [torch.optim.Adam(network.parameters(), 1e-4) for network in (generator, discriminator)]

    def wait():
        if args.device == "cuda":
            torch.cuda.synchronize()

    def step():
        partials = torch.randn(args.clouds, args.partial_points, 3, device=args.device) * 0.2
        shapes = torch.randn(args.clouds, args.points, 3, device=args.device) * 0.2
        clouds, bits, divergence = generator(partials, args.points)
        farthest = torch.cdist(partials, clouds).min(2)[0].max(1)[0].mean()
        doubt = (discriminator(clouds) - 1).square().mean()
        optimizers[0].zero_grad()
        (bits + divergence + 10 * doubt + 100 * farthest).backward()
        nn.utils.clip_grad_norm_(generator.parameters(), 1000)
        optimizers[0].step()
        loss = (discriminator(shapes) - 1).square().mean()
        loss = loss + discriminator(clouds.detach()).square().mean()
        optimizers[1].zero_grad()
        loss.backward()
        optimizers[1].step()

    for _ in range(5):
        step()
    wait()
    start = time.perf_counter()
    for _ in range(args.steps):
        step()
    wait()
    print(f"training step: {(time.perf_counter() - start) / args.steps * 1e3:.1f} ms")
    generator.eval()
    partial = torch.randn(1, args.partial_points, 3, device=args.device) * 0.2
    with torch.no_grad():
        for _ in range(5):
            generator(partial, args.points)
        wait()
        start = time.perf_counter()
        for _ in range(args.steps):
            generator(partial, args.points)
        wait()
    print(f"completion: {(time.perf_counter() - start) / args.steps * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
