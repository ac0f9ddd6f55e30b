"""BetaE in PyTorch, for the same benchmarks: a set is a Beta distribution in each of `dim` dimensions."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Beta, kl_divergence

from logice import LogicE


def positive(x: Tensor) -> Tensor:
    """Parameters of a distribution from any numbers."""
    return (x + 1).clamp(0.05, 1e9)


class BetaE(LogicE):
    """Sets are `dim` first parameters followed by `dim` second ones. Queries are walked as LogicE walks them."""

    def __init__(self, entities: int, relations: int, dim=400, hidden=1600, gamma=60.0):
        super().__init__(entities, relations, dim, hidden, gamma=gamma)
        reach = (gamma + 2) / dim
        self.entity = nn.Parameter(torch.empty(entities, 2 * dim).uniform_(-reach, reach))
        # The last layer gives parameters, not truth values.
        self.projection = self.projection[:-1]
        self.attention = nn.Sequential(nn.Linear(2 * dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        for module in self.attention:
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)

    def anchors(self, ids: Tensor) -> Tensor:
        """The distributions of entities."""
        return positive(F.embedding(ids, self.entity))

    def follow(self, x: Tensor, relation: Tensor) -> Tensor:
        """The set that a relation leads to from a set."""
        return positive(self.projection(torch.cat([x, F.embedding(relation, self.relation)], -1)))

    def negate(self, x: Tensor) -> Tensor:
        """The complement of a set."""
        return 1 / x

    def intersect(self, x: Tensor) -> Tensor:
        """The attention-weighted sum of the parameters of the sets stacked along the first axis."""
        a = torch.softmax(self.attention(x), 0)
        return (torch.cat([a, a], -1) * x).sum(0)

    def divergence(self, entity: Tensor, query: Tensor) -> Tensor:
        """Σ KL(entity ‖ query) over the dimensions."""
        return kl_divergence(Beta(*entity.chunk(2, -1)), Beta(*query.chunk(2, -1))).sum(-1)

    def logits_of(self, sets: list[Tensor], targets: list[Tensor]) -> Tensor:
        """Logits of the target entities [queries, targets] of each group, the groups in order."""
        parts = zip(sets, targets)
        return torch.cat([(self.gamma - self.divergence(self.anchors(ids), x[:, :, None])).amax(0)
                          for x, ids in parts])

    @torch.no_grad()
    def repair_entities(self) -> None:
        """Any numbers will do."""
