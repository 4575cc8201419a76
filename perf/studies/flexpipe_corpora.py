#!/usr/bin/env python3
"""Writes the rows of the flexpipe studies as JSON lines of text.

usage: perf/studies/flexpipe_corpora.py FOLDER

perf/studies/flexpipe_lengths.csv has the lengths of 33 steps of 32 samples: 64 to 512 tokens, uniformly distributed,
and one step whose samples all have the longest length. FOLDER/flexpipe-LENGTH.jsonl has them for each longest length.
"""
import csv
import json
import pathlib
import sys

LONGEST = [512, 1024, 2048, 4096, 8192]
LENGTHS = pathlib.Path(__file__).with_name("flexpipe_lengths.csv")


def read_steps(longest):
    with open(LENGTHS, encoding="utf-8", newline="") as file:
        return [[longest if cell == "longest" else int(cell) for cell in row] for row in csv.reader(file)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for longest in LONGEST:
        with open(folder / f"flexpipe-{longest}.jsonl", "w", encoding="utf-8") as file:
            for step in read_steps(longest):
                for length in step:
                    file.write(json.dumps({"text": "a" * length}) + "\n")


if __name__ == "__main__":
    main()
