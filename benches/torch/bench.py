"""Times whole updates (forward, backward, Adam, repair of the entities) on random queries; prints one JSON line."""

import argparse
import json
import os
import resource
import statistics
import time

import torch

from betae import BetaE
from logice import NEGATION, OTHER_SHAPES, PATH_SHAPES, SHAPES, UNION, Group, LogicE, flatten, update

MIXES = {"path": PATH_SHAPES, "other": OTHER_SHAPES, "2i": ("2i",)}
ADAMS = {"default": {}, "foreach": {"foreach": True}, "fused": {"fused": True}}


def random_group(shape: str, queries: int, args) -> Group:
    """Queries of one shape with uniform ids, and weights as of 1 to 50 answers."""
    columns = {
        "e": lambda: torch.randint(args.entities, (queries,)),
        "r": lambda: torch.randint(args.relations, (queries,)),
        "n": lambda: torch.full((queries,), NEGATION),
        "u": lambda: torch.full((queries,), UNION),
    }
    return Group(
        shape,
        torch.stack([columns[letter]() for letter in flatten(SHAPES[shape])], 1),
        torch.randint(args.entities, (queries,)),
        torch.randint(args.entities, (queries, args.negatives)),
        (4 + torch.randint(1, 51, (queries,))).rsqrt(),
    )


def random_batch(args) -> list[Group]:
    """A batch with the shapes of the mix in equal parts."""
    shapes = MIXES[args.mix]
    sizes = [args.batch // len(shapes) + (i < args.batch % len(shapes)) for i in range(len(shapes))]
    return [random_group(shape, size, args) for shape, size in zip(shapes, sizes) if size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("point", "bounds"), default="point")
    parser.add_argument("--model", choices=("logic", "beta"), default="logic")
    parser.add_argument("--mix", choices=MIXES, default="path")
    parser.add_argument("--adam", choices=ADAMS, default="default", help="which of PyTorch's Adam loops")
    for name, value in {"entities": 14505, "relations": 474, "dim": 400, "hidden": 1600, "batch": 512,
                        "negatives": 128, "threads": 2, "updates": 5, "warmup": 1, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    sizes = args.entities, args.relations, args.dim, args.hidden
    model = BetaE(*sizes) if args.model == "beta" else LogicE(*sizes, args.mode)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, **ADAMS[args.adam])
    batches = [random_batch(args) for _ in range(args.warmup + args.updates)]
    times = []
    for batch in batches:
        start = time.perf_counter()
        update(model, optimizer, batch)
        times.append(time.perf_counter() - start)
    times = times[args.warmup:]
    print(json.dumps({
        "updates": args.updates,
        "seconds": round(sum(times), 4),
        "per_update": round(statistics.median(times), 4),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "model": args.model,
        "mode": args.mode,
        "mix": args.mix,
        "adam": args.adam,
        "huge_pages": os.environ.get("THP_MEM_ALLOC_ENABLE") == "1",
    }))


if __name__ == "__main__":
    main()
