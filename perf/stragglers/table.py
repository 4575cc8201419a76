"""Puts what perf/studies/stragglers.json, four-stragglers.json and half-stragglers.json gave beside what theory allows.

    python3 perf/stragglers/table.py STUDIES      (the folder with their .csv)

Of a step of healthy ranks, m is matrix products: read off what a factor of 8 costs where nothing is done. A third of them
are of attention, whose 16 heads stay whole, the rest of MLP columns. With shares u of a width U, ranks that take x times
as long are done after max(x u) p / U of a healthy step's products.
    best cut   1 - m + m (1/3 best heads + 2/3 p / sum(1/x))      formula   1 - m + m p / sum(1/x)
"""
import csv
import sys
from pathlib import Path

HEADS = 16
WAYS = ("off", "resize", "semi", "migrate", "uneven")


def best_heads(factors):
    """The shortest time in which ranks that have a head each, at least, are done with all, of an even cut's."""
    def done(seconds):
        return [int(seconds / factor + 1e-9) for factor in factors]

    times = [factor * heads for factor in factors for heads in range(1, HEADS + 1)]
    enough = [time for time in times if min(done(time)) > 0 and sum(done(time)) >= HEADS]
    return min(enough) * len(factors) / HEADS


def bounds(products, factors):
    even = len(factors) / sum(1 / factor for factor in factors)
    rest = 1 - products
    return rest + products * (best_heads(factors) / 3 + even * 2 / 3), rest + products * even


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def row(name, seconds, healthy, products, factors):
    best, formula = bounds(products, factors)
    cells = " | ".join(f"{seconds[way] / healthy:.2f} x" for way in WAYS)
    print(f"| {name} | {cells} | {formula:.2f} x | {best:.2f} x |")


def main(folder):
    steps = {}
    for r in read(folder / "stragglers.csv"):
        steps.setdefault((r["model"], int(r["tensor"]), float(r["factor"])), {})[r["straggler"]] = float(r["step_s/last"])
    print("| | " + " | ".join(f"`{way}`" for way in WAYS) + " | formula | best cut into whole heads |\n" + "|---" * 8 + "|")
    products = {}
    for (model, ranks, factor), seconds in sorted(steps.items()):
        healthy = steps[model, ranks, 1.0]["off"]
        products[model, ranks] = (steps[model, ranks, 8.0]["off"] / healthy - 1) / 7
        if factor > 1:
            factors = [factor] + [1] * (ranks - 1)
            row(f"{model}, {ranks} ranks, one of them {factor:.0f} x", seconds, healthy, products[model, ranks], factors)
    four = {}
    for r in read(folder / "four-stragglers.csv"):
        four.setdefault(r["model"], {})[r["straggler"]] = float(r["step_s/last"])
    for model, seconds in sorted(four.items()):
        healthy = steps[model, 8, 1.0]["off"]
        row(f"{model}, 8 ranks, four of them 8, 6, 4, 2 x", seconds, healthy, products[model, 8], [8, 6, 4, 2, 1, 1, 1, 1])

    half(folder, steps)


def half(folder, steps):
    print("\n| at most half left out | `resize` | `semi` | `migrate`, for comparison |\n|---|---|---|---|")
    halves = {}
    for r in read(folder / "half-stragglers.csv"):
        halves.setdefault((r["model"], int(r["tensor"]), float(r["factor"])), {})[r["straggler"]] = float(r["step_s/last"])
    for (model, ranks, factor), seconds in sorted(halves.items()):
        healthy = steps[model, ranks, 1.0]["off"]
        cells = [seconds["resize"], seconds["semi"], steps[model, ranks, factor]["migrate"]]
        print(f"| {model}, {ranks} ranks, one of them {factor:.0f} x | " + " | ".join(f"{c / healthy:.2f} x" for c in cells) + " |")


main(Path(sys.argv[1]))
