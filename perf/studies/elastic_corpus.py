#!/usr/bin/env python3
"""Writes the rows of the elastic-length studies as JSON lines of text.

usage: perf/studies/elastic_corpus.py FOLDER

With 64 rows per step in the order of the corpus, FOLDER/runs.jsonl and FOLDER/isolated.jsonl have 1,000 steps. In 970 of
them all rows have 512 bytes, and in 30 steps 4,096 bytes: in runs of 12, 12 and 6 steps, or isolated. FOLDER/both.jsonl
has two short steps, then two long ones. FOLDER/few.jsonl has the steps of runs.jsonl with 8 rows each. With the
end-of-text token, which is only a target, this makes 512 and 4,096 tokens per row.
"""
import json
import pathlib
import sys

STEPS = 1000
RUNS = [(100, 12), (450, 12), (800, 6)]
ROWS_PER_STEP = 64
LONG_STEPS = {step for begin, count in RUNS for step in range(begin, begin + count)}
# By the name of the corpus: true for each long step.
TRACES = {
    "runs": [step in LONG_STEPS for step in range(STEPS)],
    "isolated": [step % 33 == 20 and step < 990 for step in range(STEPS)],
    "both": [False, False, True, True],
}


def write(file_name, are_long, rows_per_step=ROWS_PER_STEP):
    with open(file_name, "w", encoding="utf-8") as file:
        for is_long in are_long:
            row = json.dumps({"text": "a" * (4096 if is_long else 512)}) + "\n"
            file.write(row * rows_per_step)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, are_long in TRACES.items():
        write(folder / f"{name}.jsonl", are_long)
    write(folder / "few.jsonl", TRACES["runs"], rows_per_step=8)


if __name__ == "__main__":
    main()
