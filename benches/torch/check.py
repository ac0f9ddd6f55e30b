"""Checks the model against recorded numbers of the published program.

    python check.py GOLDEN.json
"""

import argparse
import json
import sys
from collections import defaultdict

import torch

from logice import Group, LogicE, update

# Our name of each tensor, by its name in the published program.
NAMES = {
    "entity_embedding": "entity",
    "relation_embedding": "relation",
    "center_net.layer1": "attention.0",
    "center_net.layer2": "attention.2",
    "projection_net.layer1": "projection.0",
    "projection_net.layer2": "projection.2",
    "projection_net.layer0": "projection.4",
}
NOT_LEARNT = ("gamma", "embedding_range")
VALUES, GRADIENTS = 1e-5, 1e-4
# A logit is 100 times a difference of numbers near 1, so that f32 itself is off by about 1e-5.
LOGITS = 2e-5
# Softmax does not change when all operands' scores move together, so some gradients of the attention
# are zero but for rounding, and Adam makes whole steps of lr = 0.01 out of that. Such numbers may differ
# and are counted, and what they touch is compared less closely than without attention.
STEPPED, STEPPED_WITH_ATTENTION, ROUNDING = 1e-5, 5e-4, 1e-5


def our_name(name: str) -> str:
    stem, dot, kind = name.rpartition(".")
    return NAMES[name] if not dot else f"{NAMES[stem]}.{kind}"


def model_of(record: dict) -> LogicE:
    """The recorded model, with its recorded parameters."""
    mode = record["mode"]
    if mode["gtrans"] or mode["layers"] != 2:
        raise ValueError(f"not implemented: {mode}")
    model = LogicE(record["nent"], record["nrel"], record["dim"], mode["hidden"],
                   "bounds" if mode["bounded"] else "point", mode["tnorm"], bool(mode["att"]), record["gamma"])
    model.load_state_dict({
        our_name(name): torch.tensor(x["data"]).view(x["shape"])
        for name, x in record["params"].items() if name not in NOT_LEARNT
    })
    return model


def group_of(case: dict) -> Group:
    return Group(case["structure"].removesuffix("-DNF"), torch.tensor(case["flat_queries"]),
                 torch.tensor(case["positive"]), torch.tensor(case["negative"]), torch.tensor(case["weights"]))


class Check:
    """Compares numbers, and keeps the largest error of each kind of them."""

    def __init__(self):
        self.worst, self.compared, self.failures = defaultdict(float), defaultdict(int), []
        self.left_out = 0

    def __call__(self, kind: str, where: str, ours, recorded, tolerance: float) -> None:
        ours, recorded = torch.as_tensor(ours).detach().flatten(), torch.as_tensor(recorded).flatten()
        if ours.shape != recorded.shape:
            self.failures.append(f"{where}: {kind}: {len(ours)} numbers, {len(recorded)} recorded")
            return
        if len(ours) == 0:
            return
        error = ((ours - recorded).abs() / recorded.abs().clamp(min=1)).max().item()
        self.worst[kind] = max(self.worst[kind], error)
        self.compared[kind] += len(ours)
        if not error <= tolerance:
            self.failures.append(f"{where}: {kind}: error {error:.2e} above {tolerance:.0e}")


def check_case(check: Check, model: LogicE, case: dict, where: str) -> None:
    """Embeddings, logits, losses and gradients of one shape."""
    group = group_of(case)
    sets = model.embed([(group.shape, group.rows)])
    if "query_embedding" in case:
        check("query embedding", where, sets[0], case["query_embedding"], VALUES)
    check("logit of all", where, model.logits_of_all(sets[0]), case["all_entity_logit"], LOGITS)
    check("positive logit", where, model.logits_of(sets, [group.positive[:, None]]), case["positive_logit"], LOGITS)
    check("negative logit", where, model.logits_of(sets, [group.negative]), case["negative_logit"], LOGITS)
    loss, positive, negative = model.losses([group])
    check("positive loss", where, positive, case["positive_loss"], VALUES)
    check("negative loss", where, negative, case["negative_loss"], VALUES)
    check("loss", where, loss, case["loss"], VALUES)
    model.zero_grad()
    loss.backward()
    gradients = {name: x.grad for name, x in model.named_parameters() if x.grad is not None}
    recorded = {our_name(name): x for name, x in case["grads"].items()}
    if gradients.keys() != recorded.keys():
        check.failures.append(f"{where}: gradients of {sorted(gradients)}, recorded {sorted(recorded)}")
    for name in gradients.keys() & recorded.keys():
        check("gradient", f"{where} {name}", gradients[name], recorded[name], GRADIENTS)


def check_steps(check: Check, model: LogicE, train: dict, where: str) -> None:
    """Losses of whole updates, and the parameters after them."""
    tolerance = STEPPED if model.attention is None else STEPPED_WITH_ATTENTION
    parameters = dict(model.named_parameters())
    smallest = {name: torch.full_like(x, torch.inf) for name, x in parameters.items()}
    optimizer = torch.optim.Adam(model.parameters(), lr=train["lr"])
    group, losses = group_of(train), []
    for _ in range(train["steps"]):
        losses.append(update(model, optimizer, [group]))
        smallest = {name: torch.minimum(x, parameters[name].grad.abs()) for name, x in smallest.items()}
    check("loss of a step", where, losses, train["losses"], tolerance)
    for their_name, recorded in train["params_after"].items():
        if their_name in NOT_LEARNT:
            continue
        name = our_name(their_name)
        recorded = torch.tensor(recorded).view(parameters[name].shape)
        sure = torch.ones_like(recorded, dtype=torch.bool)
        if name.startswith("attention"):
            sure = (smallest[name] >= ROUNDING) | ((parameters[name] - recorded).abs() <= tolerance)
            check.left_out += int((~sure).sum())
        kind = "stepped, with attention" if model.attention else "stepped, no attention"
        check(kind, f"{where} {name}", parameters[name][sure], recorded[sure], tolerance)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("golden")
    with open(parser.parse_args().golden) as file:
        records = json.load(file)
    check = Check()
    for record in records:
        mode = record["mode"]
        name = f"{mode['tnorm']} {'bounds' if mode['bounded'] else 'point'}{' attention' if mode['att'] else ''}"
        for case in record["cases"]:
            check_case(check, model_of(record), case, f"{name} {case['structure']}")
        check_steps(check, model_of(record), record["train"], f"{name} steps")
    for kind, worst in check.worst.items():
        print(f"{kind:24} {check.compared[kind]:6} numbers, largest error {worst:.1e}")
    print(f"{check.left_out} attention parameters differ after steps, with gradients that are only rounding")
    for failure in check.failures:
        print("FAILED", failure)
    print(f"{len(records)} modes, {sum(len(r['cases']) for r in records)} cases, {len(check.failures)} failures")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
