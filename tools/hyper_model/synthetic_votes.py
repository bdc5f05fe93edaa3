"""Synthetic problems of weak supervision: votes with known classes, of many kinds, in batches.

A batch holds problems with the same numbers of rows, labelers and classes. Everything else is drawn for each problem: class balance, topics
within classes, hard rows, and for each labeler its kind, coverage and accuracy.
"""

import math

import torch
from torch.nn.functional import one_hot

ABSTAIN = -1


def uniform(shape, low, high, device):
    return low + (high - low) * torch.rand(shape, device=device)


def choose(n_problems, weights, device):
    """One index per problem, with these weights."""
    weights = torch.tensor(weights, dtype=torch.float, device=device)
    return torch.multinomial(weights, n_problems, replacement=True)


def pick(mask, generated, other):
    """`generated` for the problems of `mask`, `other` for the rest."""
    return torch.where(mask.reshape(-1, *[1] * (generated.dim() - 1)), generated, other)


class Problems:
    """votes [B, n, m] (ABSTAIN: no vote), classes [B, n], balance [B, K]."""

    def __init__(self, votes, classes, balance):
        self.votes, self.classes, self.balance = votes, classes, balance


def class_balance(B, K, device):
    """From even to very uneven, most often uneven, no class below a share of 0.06 / K."""
    concentration = torch.tensor([0.7, 1.5, 4.0, 20.0], device=device)[choose(B, [8, 4, 2, 1], device)]
    gamma = torch.distributions.Gamma(concentration[:, None].expand(B, K), torch.ones(B, K, device=device)).sample()
    balance = gamma / gamma.sum(1, keepdim=True)
    floor = 0.06 / K
    return balance * (1 - floor * K) + floor


def sample_classes(balance, n):
    return torch.multinomial(balance, n, replacement=True)


def rows(balance, n, device):
    """Classes of rows, topics within classes, the class each row is mistaken for, how hard it is, and what else rows share."""
    B, K = balance.shape
    classes = sample_classes(balance, n)
    n_topics = 4 * K
    # A row's topic: mostly one of the four of its class, sometimes one of another's, that of its likely confusion.
    within = torch.softmax(1.2 * torch.randn(B, K, 4, device=device), 2)
    share = within.reshape(B * K, 4)
    index = (torch.arange(B, device=device)[:, None] * K + classes).reshape(-1)
    topic_within = torch.multinomial(share[index], 1).reshape(B, n)
    # Classes are mistaken for one another unevenly.
    affinity = 1.5 * torch.randn(B, K, K, device=device)
    affinity.diagonal(dim1=1, dim2=2).fill_(-math.inf)
    confusion = torch.softmax(affinity, 2)
    rival = torch.multinomial(confusion.reshape(B * K, K)[index], 1).reshape(B, n)
    # Rows that look like another class to everybody: no votes can tell.
    # In some problems labelers are independent given the class: nothing misleads them together.
    dependent = (torch.rand(B, 1, 1, device=device) < 0.5).float()
    strayed = torch.rand(B, n, device=device) < dependent[:, 0] * 0.3 * torch.rand(B, 1, device=device) ** 1.5
    home = torch.where(strayed, rival, classes)
    topics = home * 4 + topic_within
    difficulty = torch.rand(B, n, device=device)
    style = torch.randn(B, n, 3, device=device)
    return classes, home, topics, rival, difficulty, style, n_topics, dependent, balance


def rules(B, n, m, K, row, device):
    """Rules that fire on topics and vote for one class: keywords, patterns, heuristics."""
    classes, home, topics, rival, difficulty, style, n_topics, dependent, balance = row
    # Classes of rules: uneven, some classes with no rule at all.
    preference = torch.softmax(uniform((B, 1), 0.0, 1.6, device) * torch.randn(B, K, device=device), 1)
    of_rule = torch.multinomial(preference, m, replacement=True)
    per_row = torch.exp(uniform((B, 1), math.log(0.7), math.log(8.0), device))
    heavy = torch.exp(uniform((B, 1), 0.2, 2.0, device) * torch.randn(B, m, device=device))
    coverage = (per_row * heavy / heavy.sum(1, keepdim=True)).clamp(0.0005, 0.9)
    # Precision-like contrast: how much more a rule fires on its own class.
    contrast = uniform((B, 1), 1.0, 6.0, device) + uniform((B, 1), 0.1, 1.2, device) * torch.randn(B, m, device=device)
    # Whoever writes a rule sees how often it is right, not how much more often it fires: then rules for rare classes contrast more.
    share = torch.gather(balance, 1, of_rule)
    precision = (uniform((B, 1), 0.6, 0.98, device) + uniform((B, 1), 0.02, 0.15, device) * torch.randn(B, m, device=device)).clamp(0.05, 0.99)
    by_precision = torch.logit(precision) - torch.logit(share.clamp(0.01, 0.99))
    contrast = torch.where(torch.rand(B, 1, device=device) < 0.8, by_precision.clamp(-1, 8), contrast)
    # Rules for one class may be better than those for another.
    by_class = uniform((B, 1), 0.0, 1.5, device) * torch.randn(B, K, device=device)
    contrast = contrast + torch.gather(by_class, 1, of_rule)
    topic_class = torch.arange(n_topics, device=device) // 4
    own = topic_class[None, None, :] == of_rule[:, :, None]
    taste = dependent * uniform((B, 1, 1), 0.0, 2.0, device) * torch.randn(B, m, n_topics, device=device)
    logits = contrast[:, :, None] * own + taste
    per_topic = torch.gather(logits, 2, topics[:, None, :].expand(B, m, n)).transpose(1, 2)
    shared = dependent * uniform((B, 1, 1), 0.0, 1.0, device) * torch.einsum("bnq,bmq->bnm", style, torch.randn(B, m, 3, device=device))
    # Rules for the same class fire together on rows that have something else in common.
    kinship = torch.gather(style @ torch.randn(B, 3, K, device=device), 2, of_rule[:, None, :].expand(B, n, m))
    shared = shared + dependent * uniform((B, 1, 1), 0.0, 2.0, device) * (torch.rand(B, 1, 1, device=device) < 0.5) * kinship
    # The class itself, beside the topic: some rules see it directly.
    direct = uniform((B, 1, 1), 0.0, 1.0, device) * contrast[:, None, :] * (home[:, :, None] == of_rule[:, None, :])
    score = per_topic + shared + direct
    # The intercept that gives the wanted coverage, by the quantile of logistic scores.
    noisy = score + logistic(score.shape, device)
    threshold = quantiles(noisy, 1 - coverage)
    fires = noisy > threshold[:, None, :]
    return torch.where(fires, of_rule[:, None, :], ABSTAIN)


def logistic(shape, device):
    u = torch.rand(shape, device=device).clamp(1e-6, 1 - 1e-6)
    return torch.log(u) - torch.log1p(-u)


def quantiles(values, level):
    """The value below which a share `level` [B, m] of `values` [B, n, m] lies."""
    ordered = values.sort(1).values
    index = (level * (values.shape[1] - 1)).round().long().clamp(0, values.shape[1] - 1)
    return torch.gather(ordered, 1, index[:, None, :])[:, 0]


def classifiers(B, n, m, K, row, device):
    """Labelers that know all classes: workers, models, distant supervision. Silent on some rows."""
    _, classes, topics, rival, difficulty, style, _, dependent, _ = row
    mean = uniform((B, 1), 0.45, 0.95, device)
    spread = uniform((B, 1), 0.02, 0.25, device)
    accuracy = (mean + spread * torch.randn(B, m, device=device)).clamp(0.05, 0.99)
    chance = 1.0 / K
    accuracy = chance + (1 - chance) * accuracy
    # Accuracy depends on the class and on how hard the row is.
    by_class = uniform((B, 1, 1), 0.0, 2.0, device) * torch.randn(B, m, K, device=device)
    # A class may be hard for everybody.
    by_class = by_class + uniform((B, 1, 1), 0.0, 1.0, device) * torch.randn(B, 1, K, device=device)
    logit = torch.logit(accuracy.clamp(0.01, 0.99))[:, :, None] + by_class
    per_row = torch.gather(logit, 2, classes[:, None, :].expand(B, m, n)).transpose(1, 2)
    hard = dependent * uniform((B, 1, 1), 0.0, 2.5, device) * (0.5 - difficulty)[:, :, None]
    p_right = torch.sigmoid(per_row + 2 * hard)
    right = torch.rand(B, n, m, device=device) < p_right
    # Wrong answers: the row's rival (shared mistakes), the labeler's own habit, or anything.
    habit = torch.randint(0, K, (B, m, K), device=device)
    own_habit = torch.gather(habit, 2, classes[:, None, :].expand(B, m, n)).transpose(1, 2)
    anything = torch.randint(0, K, (B, n, m), device=device)
    how = torch.rand(B, n, m, device=device)
    to_rival, to_habit = dependent * uniform((B, 1, 1), 0.0, 0.6, device), uniform((B, 1, 1), 0.0, 0.4, device)
    wrong = torch.where(how < to_rival, rival[:, :, None], torch.where(how < to_rival + to_habit, own_habit, anything))
    answer = torch.where(right, classes[:, :, None].expand(B, n, m), wrong)
    # What rows share beside their class pulls many labelers the same way: their agreement then says little.
    direction = style @ torch.randn(B, 3, K, device=device)
    pulled = direction.argmax(2)
    strength = dependent * uniform((B, 1, 1), 0.0, 0.8, device) * (torch.rand(B, 1, 1, device=device) < 0.5) * torch.rand(B, 1, m, device=device)
    answer = torch.where(torch.rand(B, n, m, device=device) < strength, pulled[:, :, None], answer)
    coverage = torch.sigmoid(uniform((B, 1), -4.0, 3.0, device) + uniform((B, 1), 0.3, 2.5, device) * torch.randn(B, m, device=device))
    leaning = dependent * uniform((B, 1, 1), 0.0, 1.0, device) * torch.einsum("bnq,bmq->bnm", style, torch.randn(B, m, 3, device=device))
    # Silence may depend on the answer: it is given when sure of it.
    picky = uniform((B, 1, 1), 0.0, 1.5, device) * torch.gather(torch.randn(B, m, K, device=device), 2, answer.transpose(1, 2)).transpose(1, 2)
    picky = torch.where(torch.rand(B, 1, 1, device=device) < 0.5, picky, torch.zeros_like(picky))
    noisy = leaning + picky + logistic((B, n, m), device)
    votes = noisy > quantiles(noisy, 1 - coverage)[:, None, :]
    full = torch.rand(B, 1, 1, device=device) < 0.25
    return torch.where(votes | full, answer, ABSTAIN)


def thresholds(B, n, m, K, row, device):
    """Each labeler looks at a noisy feature of the row, shared with others in part, and votes where it is sure."""
    _, classes, _, _, _, style, _, dependent, _ = row
    centers = uniform((B, m, 1), 0.3, 2.0, device) * torch.randn(B, m, K, device=device) + uniform((B, m, 1), 0.3, 2.5, device)
    # Feature of class c as labeler j sees it: own value plus what rows share.
    eye = one_hot(classes, K).float()
    signal = eye[:, :, None, :] * centers[:, None, :, :]
    mixed = dependent[..., None] * torch.einsum("bnq,bmqk->bnmk", style, uniform((B, 1, 1, 1), 0.0, 0.9, device) * torch.randn(B, m, 3, K, device=device))
    seen = signal + mixed + torch.randn(B, n, m, K, device=device)
    best, answer = seen.max(3)
    margin = best - (seen.sum(3) - best) / max(K - 1, 1)
    coverage = torch.sigmoid(uniform((B, 1), -1.5, 2.5, device) + torch.randn(B, m, device=device))
    return torch.where(margin > quantiles(margin, 1 - coverage)[:, None, :], answer, ABSTAIN)


def crowd_silence(votes, device):
    """Each row is seen by a few of the labelers, busy ones more often."""
    B, n, m = votes.shape
    per_row = torch.exp(uniform((B, 1, 1), math.log(1.0), math.log(min(12.0, m)), device))
    busy = torch.exp(uniform((B, 1), 0.0, 2.0, device) * torch.randn(B, m, device=device))
    share = (per_row[:, 0] * busy / busy.sum(1, keepdim=True)).clamp(max=0.98)
    return torch.rand(B, n, m, device=device) < share[:, None, :]


def make(B, n, m, K, device):
    """A batch of problems."""
    balance = class_balance(B, K, device)
    row = rows(balance, n, device)
    classes = row[0]
    kind = choose(B, [5, 5, 2], device)
    of_rules, of_classifiers = rules(B, n, m, K, row, device), classifiers(B, n, m, K, row, device)
    votes = pick(kind == 0, of_rules, of_classifiers)
    if n * m * K <= 400_000:
        votes = pick(kind == 2, thresholds(B, n, m, K, row, device), votes)
    # Some problems mix rules and labelers of all classes.
    mixed = (torch.rand(B, 1, 1, device=device) < 0.2) & (torch.rand(B, 1, m, device=device) < 0.5)
    votes = torch.where(mixed, of_classifiers, votes)
    # Spammers, adversaries, copies.
    troubled = torch.rand(B, 1, device=device) < 0.4
    rate = torch.where(troubled, uniform((B, 1), 0.0, 0.35, device), torch.zeros(B, 1, device=device))
    spams = torch.rand(B, m, device=device) < rate
    constant = torch.randint(0, K, (B, 1, m), device=device).expand(B, n, m)
    random = torch.randint(0, K, (B, n, m), device=device)
    spam = torch.where(torch.rand(B, 1, m, device=device) < 0.3, constant, random)
    votes = torch.where(spams[:, None, :] & (votes >= 0), spam, votes)
    turned = (torch.rand(B, m, device=device) < 0.3 * rate)[:, None, :]
    other = (votes + torch.randint(1, max(K, 2), (B, 1, m), device=device)) % K
    votes = torch.where(turned & (votes >= 0), other, votes)
    copying = torch.rand(B, 1, device=device) < 0.35
    copies = (torch.rand(B, m, device=device) < 0.4) & copying
    source = torch.where(torch.rand(B, 1, device=device) < 0.5, torch.zeros(B, m, dtype=torch.long, device=device), torch.randint(0, m, (B, m), device=device))
    faithful = torch.rand(B, n, m, device=device) < uniform((B, 1, 1), 0.6, 1.0, device)
    copied = torch.gather(votes, 2, source[:, None, :].expand(B, n, m))
    votes = torch.where(copies[:, None, :] & faithful, copied, votes)
    crowd = (kind == 1) & (torch.rand(B, device=device) < 0.5)
    seen = crowd_silence(votes, device)
    votes = torch.where(crowd[:, None, None] & ~seen, ABSTAIN, votes)
    # Most sets keep rows with a vote alone.
    voted = (votes >= 0).any(2)
    only = (torch.rand(B, device=device) < 0.7) & (voted.sum(1) > 20)
    weights = torch.where(only[:, None], voted.float(), 1.0)
    index = torch.multinomial(weights, n, replacement=True)
    index = torch.where(only[:, None], index, torch.arange(n, device=device))
    votes = torch.gather(votes, 1, index[..., None].expand(B, n, m))
    classes = torch.gather(classes, 1, index)
    balance = (one_hot(classes, K).float().sum(1) + 1 / K) / (n + 1)
    return Problems(votes, classes, balance)


def majority(problems, K):
    """Accuracy of a majority vote on rows with votes, ties shared, one per problem."""
    counts = one_hot(problems.votes + 1, K + 1)[..., 1:].sum(2).float()
    top = counts == counts.max(2, keepdim=True).values
    share = top / top.sum(2, keepdim=True)
    right = torch.gather(share, 2, problems.classes[..., None])[..., 0]
    voted = counts.sum(2) > 0
    return (right * voted).sum(1) / voted.sum(1).clamp(min=1)
