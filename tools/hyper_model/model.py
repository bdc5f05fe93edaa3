"""A label model that learned its maximisation step on synthetic votes.

    E step   p[i](c) ∝ exp(b(c) + Σ over labelers j that vote on row i of w[j](vote of j on i, c))
    M step   w, b = network(statistics of the votes given p)

Dawid and Skene's model has these two steps too; its M step takes the maximum of the likelihood. Statistics are sums over rows, so rows may come
in any order and counted patterns give the same; the network treats all labelers alike, and all classes.
`crates/labelflow-weak/src/label_models/models/hyper/` computes the same without a tensor library.
"""

import math

import torch
from torch import nn
from torch.nn.functional import one_hot

N_ROUNDS, HIDDEN, STATE, ROW_HIDDEN = 5, 40, 8, 16
N_CELL, N_SHARED = 15, 9


def network(*sizes):
    """Dense layers with SiLU between them."""
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


class Hyper(nn.Module):
    def __init__(self, hidden=HIDDEN):
        super().__init__()
        self.cell = network(N_CELL + N_SHARED + STATE, hidden, hidden)
        self.context = network(6 * hidden, hidden, hidden)
        self.weight = nn.Linear(hidden, 3 + STATE)
        self.balance = network(3 + N_SHARED + hidden, hidden, 2)
        self.row = network(5 + N_SHARED, ROW_HIDDEN, 1)
        self.start = nn.Parameter(torch.tensor(1.0))
        with torch.no_grad():
            for last in (self.weight, self.balance[-1], self.row[-1]):
                last.weight.mul_(0.1)
                last.bias.zero_()
            self.weight.bias[0] = 1.0
            self.balance[-1].bias[0] = 0.5

    def forward(self, votes, n_classes, balance=None, known=None):
        """log p of each round, [B, n, K] each.

        votes [B, n, m], -1 for none; balance [B, K], NaN where it is not known; known [B, n], the class of rows that are known, else -1.
        """
        B, n, m = votes.shape
        K = n_classes
        cast = one_hot(votes + 1, K + 1)[..., 1:].to(self.start.dtype)  # [B, n, m, K]
        counts = cast.sum(2)  # votes of a row for a class, [B, n, K]
        n_votes = counts.sum(2)
        of_answer = cast.sum(1)  # votes of a labeler for a class, [B, m, K]
        of_labeler = of_answer.sum(2)
        voted = (n_votes > 0).to(self.start.dtype)
        n_voted = voted.sum(1)
        shares = counts / n_votes.clamp(min=1)[..., None]
        if known is None:
            known = torch.full((B, n), -1, device=votes.device)
        known_rows = one_hot(known + 1, K + 1)[..., 1:].to(self.start.dtype)
        is_known = known_rows.sum(2, keepdim=True) > 0
        of_known = torch.einsum("bnma,bnc->bmac", cast, known_rows)
        n_known = of_known.sum(3)
        if balance is None:
            balance = torch.full((B, K), math.nan, device=votes.device)
        given = ~balance.isnan().any(1, keepdim=True)
        given_log = balance.nan_to_num(1.0).log()
        eye = torch.eye(K, device=votes.device)
        share_of_votes = of_labeler / of_labeler.sum(1, keepdim=True).clamp(min=1)
        # Shares of all votes and of rows' votes, with one more that is shared by all classes.
        vote_share = (of_answer.sum(1) + 1 / K) / (of_labeler.sum(1, keepdim=True) + 1)
        row_share = ((shares * voted[..., None]).sum(1) + 1 / K) / (n_voted + 1)[:, None]

        weights = self.start * eye.expand(B, m, K, K)
        log_balance = torch.zeros(B, K, device=votes.device)
        state = torch.zeros(B, m, K, K, STATE, device=votes.device)
        answers = []
        for round in range(N_ROUNDS + 1):
            of_vote = torch.einsum("bnma,bmac->bnmc", cast, weights)
            logits = log_balance[:, None] + of_vote.sum(2)
            if round > 0:
                answers.append(self.tempered(logits, n_votes, shares, m, shared).log_softmax(2))
            if round == N_ROUNDS:
                return answers
            # What is expected of the classes: by all votes, and for each vote by the others of its row.
            post = torch.where(is_known, known_rows, logits.softmax(2))
            others = torch.where(is_known[:, :, None], known_rows[:, :, None], (logits[:, :, None] - of_vote).softmax(3))
            by_others = torch.einsum("bnma,bnmc->bmac", cast, others)
            by_all = torch.einsum("bnma,bnc->bmac", cast, post)
            totals = (post * voted[..., None]).sum(1)
            prior = (totals + 1 / K) / (n_voted[:, None] + 1)

            lift = self.lift(by_others, of_answer, prior)
            answer_rate = ((of_answer + 1 / K) / (of_labeler + 1)[..., None])[..., None]
            of_class = by_others.sum(2, keepdim=True)
            given_vote = ((by_others + answer_rate) / (of_class + 1) / answer_rate).log()
            # Votes for the same class on the rows of an answer, against what independent labelers would give.
            together = torch.einsum("bnma,bna->bma", cast, counts) - of_answer
            precision = by_others / of_answer.clamp(min=1e-6)[..., None]
            rates = by_all / totals.clamp(min=1e-3)[:, None, None]
            expected = ((rates.sum(1, keepdim=True) - rates) * precision).sum(3)
            crowded = ((together + 1) / (expected * of_answer + 1)).log()
            agreement = (torch.einsum("bmaa->bm", by_others) + 1) / (of_labeler + 2)
            chance = (prior[:, None] * of_answer).sum(2) / of_labeler.clamp(min=1)
            of_one = lambda value: value[..., None, None].expand(B, m, K, K)
            of_vote_class = lambda value: value[..., None].expand(B, m, K, K)
            cells = torch.stack(
                [
                    eye.expand(B, m, K, K),
                    lift,
                    self.lift(by_all, of_answer, prior),
                    given_vote,
                    of_vote_class(of_answer.log1p() / 5),
                    by_others.log1p() / 5,
                    (of_class.log1p() / 5).expand(B, m, K, K),
                    prior.log()[:, None, None].expand(B, m, K, K),
                    prior.log()[:, None, :, None].expand(B, m, K, K),
                    of_vote_class(crowded),
                    of_vote_class(of_answer / of_labeler.clamp(min=1)[..., None]),
                    of_one(of_labeler / n_voted.clamp(min=1)[:, None]),
                    of_one(agreement - chance),
                    of_vote_class(n_known.log1p() / 3),
                    self.lift(of_known, n_known, prior),
                ],
                4,
            )
            ones = torch.ones(B, device=votes.device)
            shared = torch.stack(
                [
                    n_voted.log1p() / 5,
                    ones * math.log(m) / 3,
                    ones * math.log(K),
                    ((n_votes.sum(1) + 1) / (n_voted + 1)).log(),
                    (agreement * share_of_votes).sum(1),
                    (chance * share_of_votes).sum(1),
                    (of_answer.max(2).values / of_labeler.clamp(min=1)).mean(1),
                    -(prior * prior.log()).sum(1) - math.log(K),
                    ones * (round - 2) / 2,
                ],
                1,
            )
            h = self.cell(torch.cat([cells, shared[:, None, None, None].expand(B, m, K, K, N_SHARED), state], 4))
            own = torch.einsum("bmaah->bmah", h)
            of_all = torch.einsum("bmaah,bm->bah", h, share_of_votes)
            context = [h, h.mean(3, keepdim=True), h.mean(2, keepdim=True), own[:, :, :, None], own[:, :, None], of_all[:, None, None]]
            z = nn.functional.silu(self.context(torch.cat([part.expand_as(h) for part in context], 4)))
            out = self.weight(z)
            weights = out[..., 0] * lift + out[..., 1] * given_vote + 2 * out[..., 2]
            state = torch.tanh(out[..., 3:])

            of_class = torch.stack([prior.log(), vote_share.log(), row_share.log()], 2)
            z = torch.einsum("bmaah,bm->bah", z, share_of_votes)
            out = self.balance(torch.cat([of_class, shared[:, None].expand(B, K, N_SHARED), z], 2))
            log_balance = torch.where(given, given_log, out[..., 0] * prior.log() + out[..., 1])

    def tempered(self, logits, n_votes, shares, n_labelers, shared):
        """Logits of rows that have votes, as sure as such rows may be."""
        log_p = logits.log_softmax(2)
        top = logits.topk(2, 2).values
        facts = [n_votes.log1p(), top[..., 0] - top[..., 1], shares.max(2).values, (log_p.exp() * log_p).sum(2), n_votes / n_labelers]
        facts = torch.cat([torch.stack(facts, 2), shared[:, None].expand(-1, logits.shape[1], -1)], 2)
        log_scale = 0.5 * self.row(facts).clamp(-4, 4)
        return logits * torch.where(n_votes[..., None] > 0, log_scale.exp(), 1.0)

    @staticmethod
    def lift(expected, counts, prior):
        """log p(class | answer) / p(class), with one more row that is as likely as the prior."""
        prior = prior[:, None, None]
        return ((expected + prior) / (counts + 1)[..., None] / prior).log()
