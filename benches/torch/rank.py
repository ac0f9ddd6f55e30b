"""Ranks all entities for every query of a file with a model that Skolem stored; prints one JSON line.

Two ways: `published` takes one query at a time, looks all entities up, and forms the dense difference, as the published
program does; `cdist` takes as many queries of a shape at once as are asked for.
"""

import argparse
import json
import resource
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from logice import LogicE, flatten

NUMBERS = {"F32": np.float32}
LAYERS = {
    "projection.0": "projection.first", "projection.2": "projection.hidden1", "projection.4": "projection.last",
    "attention.0": "attention.first", "attention.2": "attention.last",
}


def read_weights(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file: the length of a header, the header, the numbers."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, about in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = (start + offset for offset in about["data_offsets"])
            numbers = np.frombuffer(data[begin:end], NUMBERS[about["dtype"]]).reshape(about["shape"])
            tensors[name] = torch.from_numpy(numbers.copy())
    return tensors


def read_model(file: Path, args) -> LogicE:
    """A model with the stored weights."""
    stored = read_weights(file)
    model = LogicE(len(stored["entities"]), len(stored["relations"]), args.dim, args.hidden, args.mode,
                   gamma=args.gamma)
    weights = {"entity": stored["entities"], "relation": stored["relations"]}
    for here, there in LAYERS.items():
        for part in ("weight", "bias"):
            weights[f"{here}.{part}"] = stored[f"{there}.{part}"]
    model.load_state_dict(weights)
    return model


def rank_by_sorting(logits: torch.Tensor, easy: list[int], hard: list[int]) -> float:
    """Mean reciprocal filtered rank of the hard answers, from the order of all entities."""
    order = torch.argsort(logits, descending=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    known = torch.tensor(easy + hard)
    ranks, which = torch.sort(place[known])
    # Of those before an answer, the answers do not count.
    filtered = ranks - torch.arange(len(known)) + 1
    return (1 / filtered[which >= len(easy)].float()).mean().item()


def published(model: LogicE, tests: list[dict]) -> list[float]:
    """One query at a time."""
    found, everything = [], torch.arange(len(model.entity))
    for test in tests:
        sets = model.embed([(test["t"], torch.tensor([flatten(test["q"])]))])[0]
        entities = F.embedding(everything[None], model.entity)
        distance = (sets - entities).abs().sum(-1)
        logits = model.logit(distance).amax(0)
        found.append(rank_by_sorting(logits, test["easy"], test["hard"]))
    return found


def cdist(model: LogicE, tests: list[dict], batch: int) -> list[float]:
    """Many queries of a shape at once, ranks by counting."""
    found, by_shape = [], defaultdict(list)
    for test in tests:
        by_shape[test["t"]].append(test)
    for shape, of_shape in by_shape.items():
        for part in (of_shape[at:at + batch] for at in range(0, len(of_shape), batch)):
            rows = torch.tensor([flatten(test["q"]) for test in part])
            for logits, test in zip(model.logits_of_all(model.embed([(shape, rows)])[0]), part):
                own = logits[test["hard"]][:, None]
                logits[test["easy"] + test["hard"]] = -torch.inf
                found.append((1 / (1 + (logits > own).sum(1).float())).mean().item())
    return found


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, required=True, help="a model's weights.safetensors")
    parser.add_argument("--queries", type=Path, required=True, help="JSON lines with t, q, easy, hard")
    parser.add_argument("--way", choices=("published", "cdist"), required=True)
    parser.add_argument("--mode", choices=("point", "bounds"), default="point")
    parser.add_argument("--gamma", type=float, default=0.375)
    for name, value in {"dim": 400, "hidden": 1600, "batch": 256, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    model = read_model(args.weights, args)
    with open(args.queries) as lines:
        tests = [json.loads(line) for line in lines]
    run = {"published": published, "cdist": lambda *given: cdist(*given, args.batch)}[args.way]
    run(model, tests[:4])
    start = time.perf_counter()
    found = run(model, tests)
    seconds = time.perf_counter() - start
    print(json.dumps({
        "queries": len(tests),
        "per_second": round(len(tests) / seconds, 2),
        "mrr": float(np.mean(found)),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
