"""LogicE in PyTorch: logic embeddings for queries over knowledge graphs, trained by autograd on the CPU."""

import itertools
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# A set is an entity or a set followed by a chain of relations and negations, or an intersection of
# sets, or (ending in "u") a union of sets. A query of a shape is a row of ids, one for each letter.
ONE, TWO, NOT = ("e", ("r",)), ("e", ("r", "r")), ("e", ("r", "n"))
SHAPES = {
    "1p": ONE,
    "2p": TWO,
    "3p": ("e", ("r", "r", "r")),
    "2i": (ONE, ONE),
    "3i": (ONE, ONE, ONE),
    "pi": (TWO, ONE),
    "ip": ((ONE, ONE), ("r",)),
    "2in": (ONE, NOT),
    "3in": (ONE, ONE, NOT),
    "inp": ((ONE, NOT), ("r",)),
    "pin": (TWO, NOT),
    "pni": (("e", ("r", "r", "n")), ONE),
    "2u": (ONE, ONE, ("u",)),
    "up": ((ONE, ONE, ("u",)), ("r",)),
    "up-DM": ((NOT, NOT), ("n", "r")),
}
PATH_SHAPES = ("1p", "2p", "3p")
OTHER_SHAPES = ("2i", "3i", "2in", "3in", "inp", "pin", "pni")
NEGATION, UNION = -2, -1


def flatten(nested) -> list:
    """The leaves of a nested structure or query, in order."""
    if isinstance(nested, (list, tuple)):
        return [leaf for part in nested for leaf in flatten(part)]
    return [nested]


def is_chain(structure) -> bool:
    """Whether a structure is one set followed by relations and negations."""
    return len(structure) == 2 and all(step in ("r", "n") for step in structure[1])


@dataclass
class Group:
    """Queries of one shape, each with a positive, its negatives and its weight in the loss."""

    shape: str
    rows: Tensor  # [queries, letters of the shape]
    positive: Tensor  # [queries]
    negative: Tensor  # [queries, negatives]
    weight: Tensor  # [queries]


def repair(lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds with both ends at the middle wherever they had crossed."""
    middle, crossed = (lower + upper) / 2, lower > upper
    return torch.where(crossed, middle, lower), torch.where(crossed, middle, upper)


class LogicE(nn.Module):
    """Sets are 2·dim truth values: points, or `dim` lower bounds followed by `dim` upper bounds."""

    def __init__(self, entities: int, relations: int, dim=400, hidden=1600, mode="point",
                 tnorm="luk", attention=True, gamma=0.375):
        super().__init__()
        self.dim, self.tnorm, self.gamma, self.bounds = dim, tnorm, gamma, mode == "bounds"
        table = torch.rand(entities, 2 * dim)
        if self.bounds:
            lower, share = table.chunk(2, -1)
            table = torch.cat([lower, lower + share * (1 - lower)], -1)
        reach = (gamma + 2) / dim
        self.entity = nn.Parameter(table)
        self.relation = nn.Parameter(torch.empty(relations, dim).uniform_(-reach, reach))
        self.projection = nn.Sequential(
            nn.Linear(3 * dim, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2 * dim), nn.Sigmoid(),
        )
        self.attention = nn.Sequential(
            nn.Linear(2 * dim, 2 * dim), nn.ReLU(),
            nn.Linear(2 * dim, dim if self.bounds else 2 * dim),
        ) if attention else None
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)

    def anchors(self, ids: Tensor) -> Tensor:
        """The sets of single entities."""
        return F.embedding(ids, self.entity)

    def follow(self, x: Tensor, relation: Tensor) -> Tensor:
        """The set that a relation leads to from a set."""
        y = self.projection(torch.cat([x, F.embedding(relation, self.relation)], -1))
        if self.bounds:
            lower, share = y.chunk(2, -1)
            y = torch.cat([lower, lower + share * (1 - lower)], -1)
        return y

    def negate(self, x: Tensor) -> Tensor:
        """The complement of a set."""
        if self.bounds:
            lower, upper = x.chunk(2, -1)
            x = torch.cat([upper, lower], -1)
        return 1 - x

    def weights(self, x: Tensor) -> Tensor:
        """Attention over the operands, the largest weight of each dimension being 1."""
        a = torch.softmax(self.attention(x), 0)
        a = a / a.max(0).values
        return torch.cat([a, a], -1) if self.bounds else a

    def intersect(self, x: Tensor) -> Tensor:
        """The intersection of the sets stacked along the first axis, by the t-norm."""
        a = None if self.attention is None else self.weights(x)
        if self.tnorm == "luk":
            miss = 1 - x if a is None else a * (1 - x)
            return (1 - miss.sum(0)).clamp(0, 1)
        if self.tnorm == "prod":
            return x.prod(0) if a is None else (a * (x.clamp(0, 1) + 1e-6).log()).sum(0).exp()
        w = torch.exp(-10 * x) if a is None else a * torch.exp(-10 * x)
        y = (w * x).sum(0) / w.sum(0)
        return torch.cat(repair(*y.chunk(2, -1)), -1) if self.bounds else y

    def disjuncts(self, structure, columns) -> list[Tensor]:
        """The sets whose union a structure is. `columns` gives looked-up anchors, and other ids."""
        *parts, last = structure
        if is_chain(structure):
            sets = [next(columns)] if parts[0] == "e" else self.disjuncts(parts[0], columns)
            for step in last:
                ids = next(columns)
                if step == "n":
                    if len(sets) > 1:
                        raise ValueError("a negated union has no disjunctive form here: use De Morgan")
                    sets = [self.negate(sets[0])]
                else:
                    sets = [self.follow(x, ids) for x in sets]
            return sets
        if last == ("u",):
            sets = [x for part in parts for x in self.disjuncts(part, columns)]
            next(columns)
            return sets
        operands = [self.disjuncts(part, columns) for part in structure]
        return [self.intersect(torch.stack(choice)) for choice in itertools.product(*operands)]

    def embed(self, queries: list[tuple[str, Tensor]]) -> list[Tensor]:
        """For each shape with its rows, the queries' sets: [disjuncts, queries, 2·dim]."""
        letters = [flatten(SHAPES[shape]) for shape, _ in queries]
        anchors = [rows[:, [i for i, x in enumerate(names) if x == "e"]]
                   for names, (_, rows) in zip(letters, queries)]
        # One lookup for all shapes: each lookup costs a dense gradient of the whole table.
        found = self.anchors(torch.cat([ids.T.reshape(-1) for ids in anchors]))
        found = found.split([ids.numel() for ids in anchors])
        result = []
        for names, (shape, rows), x in zip(letters, queries, found):
            sets = iter(x.split(len(rows)))
            columns = [next(sets) if name == "e" else rows[:, i] for i, name in enumerate(names)]
            result.append(torch.stack(self.disjuncts(SHAPES[shape], iter(columns))))
        return result

    def logits_of(self, sets: list[Tensor], targets: list[Tensor]) -> Tensor:
        """Logits of the target entities [queries, targets] of each group, the groups in order."""
        wanted = torch.cat(targets)
        entities = F.embedding(wanted, self.entity)
        if all(len(x) == 1 for x in sets):
            query = torch.cat([x[0] for x in sets])
            return self.logit(torch.cdist(query[:, None], entities, p=1)[:, 0])
        parts = zip(sets, entities.split([len(x) for x in targets]))
        return torch.cat([self.logit(torch.cdist(x[:, :, None], e[None], p=1)[:, :, 0]).amax(0)
                          for x, e in parts])

    def logits_of_all(self, sets: Tensor) -> Tensor:
        """Logits of every entity for one group's sets: [queries, entities]."""
        return torch.stack([self.logit(torch.cdist(x, self.entity, p=1)) for x in sets]).amax(0)

    def logit(self, distance: Tensor) -> Tensor:
        """The logit of an L1 distance over all truth values."""
        return 100 * (self.gamma - distance / (2 * self.dim))

    def losses(self, groups: list[Group]) -> tuple[Tensor, Tensor, Tensor]:
        """The loss of a batch, and its positive and negative parts."""
        sets = self.embed([(group.shape, group.rows) for group in groups])
        targets = [torch.cat([g.positive[:, None], g.negative], 1) for g in groups]
        logits = self.logits_of(sets, targets)
        weight = torch.cat([group.weight for group in groups])
        weight = weight / weight.sum()
        positive = -(weight * F.logsigmoid(logits[:, 0])).sum()
        negative = -(weight * F.logsigmoid(-logits[:, 1:]).mean(1)).sum()
        return (positive + negative) / 2, positive, negative

    @torch.no_grad()
    def repair_entities(self) -> None:
        """Puts the entity table back into [0, 1], and crossed bounds together."""
        self.entity.clamp_(0, 1)
        if self.bounds:
            lower, upper = self.entity.chunk(2, -1)
            new_lower, new_upper = repair(lower, upper)
            lower.copy_(new_lower)
            upper.copy_(new_upper)


def update(model: LogicE, optimizer: torch.optim.Optimizer, groups: list[Group]) -> float:
    """One whole update on a batch; its loss."""
    optimizer.zero_grad()
    loss, _, _ = model.losses(groups)
    loss.backward()
    optimizer.step()
    model.repair_entities()
    return loss.item()
