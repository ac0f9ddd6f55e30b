"""Trains LogicE by the paper's recipe for a number of updates, then measures MRR on valid queries.

Prints one JSON line; progress goes to the standard error.
"""

import argparse
import gzip
import json
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from logice import PATH_SHAPES, SHAPES, Group, LogicE, flatten, is_chain, update

EPFO = ("1p", "2p", "3p", "2i", "3i", "pi", "ip", "2u", "up")
NEGATION = ("2in", "3in", "inp", "pin", "pni")
SHAPE_OF_LINE = re.compile(r'"t"\s*:\s*"([^"]*)"')


class Graph:
    """Edges, and exact answers of queries on them."""

    def __init__(self, files: list[Path], entities: int):
        self.everything = set(range(entities))
        self.tails = defaultdict(set)
        for file in files:
            for head, relation, tail in np.loadtxt(file, dtype=np.int64, ndmin=2).tolist():
                self.tails[head, relation].add(tail)

    def answers(self, shape: str, row: list[int]) -> set[int]:
        return self.evaluate(SHAPES[shape], iter(row))

    def evaluate(self, structure, ids) -> set[int]:
        *parts, last = structure
        if is_chain(structure):
            found = {next(ids)} if parts[0] == "e" else self.evaluate(parts[0], ids)
            for step in last:
                relation = next(ids)
                if step == "n":
                    found = self.everything - found
                else:
                    found = set().union(*(self.tails.get((x, relation), ()) for x in found))
            return found
        if last == ("u",):
            found = set().union(*[self.evaluate(part, ids) for part in parts])
            next(ids)
            return found
        return set.intersection(*[self.evaluate(part, ids) for part in structure])


def read_stats(folder: Path) -> tuple[int, int]:
    """The numbers of entities and relations."""
    stats = dict(line.split(":") for line in (folder / "stats.txt").read_text().splitlines() if line.strip())
    return int(stats["numentity"]), int(stats["numrelations"])


def read_queries(files: list[Path], per_shape: int | None) -> dict[str, list[tuple[list[int], list[int] | None]]]:
    """By shape, each query's row and its answers where given; the first `per_shape` of each shape."""
    queries = defaultdict(list)
    for file in files:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt") as lines:
            for line in lines:
                shape = SHAPE_OF_LINE.search(line)[1]
                if per_shape is not None and len(queries[shape]) >= per_shape:
                    continue
                record = json.loads(line)
                row = flatten(record["q"])
                if len(row) != len(flatten(SHAPES[shape])):
                    raise ValueError(f"{file}: not a query of shape {shape}: {record['q']}")
                queries[shape].append((row, record.get("easy")))
    return queries


class Stream:
    """Endless shuffled batches from the pooled queries of some shapes."""

    def __init__(self, queries: dict, graph: Graph, args, rng: np.random.Generator):
        self.pool = [(shape, *query) for shape in queries for query in queries[shape]]
        self.graph, self.args, self.rng = graph, args, rng
        self.known = {}  # answers by place in the pool, found when first needed
        self.order = self.places()

    def places(self):
        while True:
            yield from self.rng.permutation(len(self.pool)).tolist()

    def answers(self, place: int) -> np.ndarray:
        if place not in self.known:
            shape, row, given = self.pool[place]
            found = self.graph.answers(shape, row) if given is None else given
            if not found:
                raise ValueError(f"a training query without answers: {shape} {row}")
            self.known[place] = np.fromiter(sorted(found), np.int32)
        return self.known[place]

    def batch(self) -> list[Group]:
        """The next queries, each with one of its answers and uniform negatives, grouped by shape."""
        members = defaultdict(list)
        for _ in range(self.args.batch):
            place = next(self.order)
            members[self.pool[place][0]].append(place)
        entities = len(self.graph.everything)
        groups = []
        for shape, places in members.items():
            answers = [self.answers(place) for place in places]
            negative = self.rng.integers(entities, size=(len(places), self.args.negatives))
            groups.append(Group(
                shape,
                torch.tensor([self.pool[place][1] for place in places]),
                torch.tensor([int(x[self.rng.integers(len(x))]) for x in answers]),
                torch.from_numpy(negative),
                torch.tensor([4.0 + len(x) for x in answers]).rsqrt(),
            ))
        return groups


def train(model: LogicE, streams: list[Stream], args) -> float:
    """Runs the updates; the mean loss of the last 100."""
    turns = (0, 1, 0) if all(stream.pool for stream in streams) else (0 if streams[0].pool else 1,)
    lr, losses, start = args.lr, [], time.perf_counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for i in range(args.updates):
        if i > 0 and i in (args.updates // 2, args.updates * 3 // 4) and not args.constant_lr:
            lr /= 5
            optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        losses.append(update(model, optimizer, streams[turns[i % len(turns)]].batch()))
        if (i + 1) % 100 == 0:
            mean, seconds = np.mean(losses[-100:]), time.perf_counter() - start
            print(f"update {i + 1}: loss {mean:.4f}, {seconds:.0f} s", file=sys.stderr)
    return float(np.mean(losses[-100:])) if losses else float("nan")


def reciprocal_rank(scores: torch.Tensor, easy: set[int], hard: set[int]) -> float:
    """Mean over the hard answers of 1 / rank among the non-answers, tied ones counting half."""
    others = torch.ones(len(scores), dtype=torch.bool)
    others[list(easy | hard)] = False
    rivals, own = scores[others], scores[sorted(hard)][:, None]
    rank = 1 + (rivals > own).sum(1) + (rivals == own).sum(1) / 2
    return (1 / rank).mean().item()


@torch.no_grad()
def evaluate(model: LogicE, queries: dict, small: Graph, big: Graph) -> dict[str, float]:
    """Filtered MRR of each shape."""
    mrr = {}
    for shape in (shape for shape in EPFO + NEGATION if shape in queries):
        results = []
        rows = [row for row, _ in queries[shape]]
        for part in (rows[i:i + 64] for i in range(0, len(rows), 64)):
            scores = model.logits_of_all(model.embed([(shape, torch.tensor(part))])[0])
            for row, of_row in zip(part, scores):
                easy = small.answers(shape, row)
                hard = big.answers(shape, row) - easy
                if hard:
                    results.append(reciprocal_rank(of_row, easy, hard))
        if results:
            mrr[shape] = float(np.mean(results))
    return mrr


def mean_of(mrr: dict[str, float], shapes: tuple[str, ...]) -> float | None:
    values = [mrr[shape] for shape in shapes if shape in mrr]
    return round(float(np.mean(values)), 5) if values else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph-dir", type=Path, required=True, help="with stats.txt, train.txt, valid.txt")
    parser.add_argument("--train", type=Path, nargs="+", required=True, help="queries, .jsonl or .jsonl.gz")
    parser.add_argument("--valid", type=Path, nargs="+", required=True, help="queries, .jsonl or .jsonl.gz")
    parser.add_argument("--train-per-shape", type=int, help="only the first so many; all by default")
    parser.add_argument("--valid-per-shape", type=int, default=100)
    parser.add_argument("--mode", choices=("point", "bounds"), default="point")
    parser.add_argument("--tnorm", choices=("luk", "prod", "mins"), default="luk")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--constant-lr", action="store_true",
                        help="no division by 5 with a fresh Adam at a half and at three quarters")
    for name, value in {"dim": 400, "hidden": 1600, "updates": 300, "batch": 512, "negatives": 128,
                        "seed": 0, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    entities, relations = read_stats(args.graph_dir)
    small = Graph([args.graph_dir / "train.txt"], entities)
    big = Graph([args.graph_dir / "train.txt", args.graph_dir / "valid.txt"], entities)
    queries = read_queries(args.train, args.train_per_shape)
    paths = {shape: queries[shape] for shape in queries if shape in PATH_SHAPES}
    others = {shape: queries[shape] for shape in queries if shape not in PATH_SHAPES}
    model = LogicE(entities, relations, args.dim, args.hidden, args.mode, args.tnorm)
    loss = train(model, [Stream(paths, small, args, rng), Stream(others, small, args, rng)], args)
    mrr = evaluate(model, read_queries(args.valid, args.valid_per_shape), small, big)
    print(json.dumps({
        "updates": args.updates,
        "mrr": {shape: round(value, 5) for shape, value in mrr.items()},
        "epfo": mean_of(mrr, EPFO),
        "negation": mean_of(mrr, NEGATION),
        "loss": round(loss, 5),
    }))


if __name__ == "__main__":
    main()
