"""Checks our figures against SciPy and NumPy: ranks, averages, correlations, and the cardinality net.

    python benches/scipy/check.py              # runs the example that prints what is compared
    python benches/scipy/check.py FILE         # or reads what it printed

Prints the largest difference of each kind; the exit code is 1 if one is above its limit.
"""

import json
import subprocess
import sys

import numpy as np
from scipy import stats

EXAMPLE = ["cargo", "run", "--quiet", "--package", "skolem", "--example", "measures"]
MASK = (1 << 64) - 1
FIGURES = ["mrr", "hits1", "hits3", "hits10"]


def ranks_of(query):
    """Figures of one query: the mean rank among equals, competing with non-answers."""
    scores = np.array(query["scores"])
    answers = query["easy"] + query["hard"]
    others = np.delete(scores, answers)
    ranks = [stats.rankdata(-np.append(others, scores[hard]))[-1] for hard in query["hard"]]
    ranks = np.array(ranks)
    return [np.mean(1 / ranks)] + [np.mean(ranks <= most) for most in (1, 3, 10)]


def check_ranks(told):
    by_shape = {}
    for query in told["queries"]:
        by_shape.setdefault(query["shape"], []).append(ranks_of(query))
    by_shape = {shape: np.mean(figures, axis=0) for shape, figures in by_shape.items()}
    worst = max(
        abs(ours[name] - by_shape[shape][at])
        for shape, ours in told["shapes"].items()
        for at, name in enumerate(FIGURES)
    )
    groups = {
        "epfo": ["1p", "2p", "3p", "2i", "3i", "pi", "ip", "2u", "up"],
        "negation": ["2in", "3in", "inp", "pin", "pni"],
        "all": list(by_shape),
    }
    means = max(
        abs(told["means"][group][name] - np.mean([by_shape[shape][at] for shape in shapes]))
        for group, shapes in groups.items()
        for at, name in enumerate(FIGURES)
    )
    assert told["shapes"].keys() == by_shape.keys()
    return {"ranks by shape": worst, "averages": means}


def check_correlations(told):
    worst = {"spearman": 0.0, "pearson": 0.0}
    for shape, of in told["measured"].items():
        for at, measure in enumerate(told["measures"]):
            sums = np.sum(np.reshape(of["parts"][at], (len(of["answers"]), -1)), axis=1)
            ours = told["correlations"][measure][shape]
            theirs = {
                "spearman": stats.spearmanr(sums, of["answers"]).statistic,
                "pearson": stats.pearsonr(sums, of["answers"]).statistic,
            }
            for name, value in theirs.items():
                worst[name] = max(worst[name], abs(ours[name] - value))
    return worst


class Rng:
    """SplitMix64, as crates/kg/src/rng.rs has it."""

    def __init__(self, state):
        self.state = state & MASK

    @staticmethod
    def stream(seed, part, step):
        rng = Rng(seed ^ (part * 0xD6E8FEB86659FD93 & MASK))
        return Rng(Rng(rng.next() ^ (step * 0xA0761D6478BD642F & MASK)).next())

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        bits = self.state
        bits = ((bits ^ bits >> 30) * 0xBF58476D1CE4E5B9) & MASK
        bits = ((bits ^ bits >> 27) * 0x94D049BB133111EB) & MASK
        return bits ^ bits >> 31

    def shuffle(self, items):
        for end in range(len(items) - 1, 0, -1):
            at = self.next() * (end + 1) >> 64
            items[end], items[at] = items[at], items[end]

    def uniform(self, reach, shape):
        numbers = [(self.next() >> 11) / 2**53 for _ in range(int(np.prod(shape)))]
        return reach * (2 * np.reshape(numbers, shape) - 1)


def cardinality(shapes, seed):
    """The paper's net: d, d/4, d/16, 1; 250 steps of Adam on half of the queries of each shape."""
    learnt, tried = [], []
    for number, (x, answers) in enumerate(shapes):
        order = list(range(len(answers)))
        Rng.stream(seed, 0x68616C766573, number).shuffle(order)
        y = np.minimum(np.array(answers) / 1000, 1)
        half = len(order) // 2
        learnt.append((x[order[:half]], y[order[:half]]))
        tried.append((x[order[half:]], y[order[half:]]))
    x, y = (np.concatenate(part) for part in zip(*learnt))
    mean = x.mean()
    x = x / mean
    rng = Rng.stream(seed, 0x636172646E65, 0)
    width = x.shape[1]
    sizes = [width, max(width // 4, 1), max(width // 16, 1), 1]
    parameters = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        reach = 1 / np.sqrt(inputs)
        parameters += [rng.uniform(reach, (outputs, inputs)), rng.uniform(reach, (outputs,))]

    def forward(x):
        one = np.maximum(x @ parameters[0].T + parameters[1], 0)
        two = np.maximum(one @ parameters[2].T + parameters[3], 0)
        told = 1 / (1 + np.exp(-(two @ parameters[4].T + parameters[5])))
        return one, two, told[:, 0]

    moments = [[np.zeros_like(p), np.zeros_like(p)] for p in parameters]
    for step in range(1, 251):
        one, two, told = forward(x)
        dz = (np.sign(told - y) / (y * len(y)) * told * (1 - told))[:, None]
        dtwo = (dz @ parameters[4]) * (two > 0)
        done = (dtwo @ parameters[2]) * (one > 0)
        slopes = [done.T @ x, done.sum(0), dtwo.T @ one, dtwo.sum(0), dz.T @ two, dz.sum(0)]
        for p, g, m in zip(parameters, slopes, moments):
            m[0] = 0.9 * m[0] + 0.1 * g
            m[1] = 0.999 * m[1] + 0.001 * g * g
            p -= 1e-4 * (m[0] / (1 - 0.9**step)) / (np.sqrt(m[1] / (1 - 0.999**step)) + 1e-8)
    return [np.mean(np.abs(forward(x / mean)[2] - y) / y) for x, y in tried]


def check_cardinality(told):
    worst = 0.0
    for at, measure in enumerate(told["measures"]):
        of = told["measured"].values()
        shapes = [(np.reshape(o["parts"][at], (len(o["answers"]), -1)), o["answers"]) for o in of]
        theirs = cardinality(shapes, told["seed"])
        worst = max(worst, *(abs(a - b) / b for a, b in zip(told["errors"][measure], theirs)))
    return {"cardinality": worst}


def main():
    text = open(sys.argv[1]).read() if len(sys.argv) > 1 else subprocess.check_output(EXAMPLE)
    told = json.loads(text)
    found = check_ranks(told) | check_correlations(told) | check_cardinality(told)
    for name, difference in found.items():
        print(f"{name:16} largest difference {difference:.1e}")
    if max(found.values()) > 1e-9:
        sys.exit("above 1e-9")


if __name__ == "__main__":
    main()
