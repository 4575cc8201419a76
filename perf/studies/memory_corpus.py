#!/usr/bin/env python3
"""Writes the rows of the memory-per-step study as JSON lines of text.

usage: perf/studies/memory_corpus.py FOLDER

With 64 rows per step in the order of the corpus, FOLDER/memory.jsonl has 33 steps. Rows have 512 bytes, and in one step
4,096 bytes. With the end-of-text token, which is only a target, this makes 512 and 4,096 tokens per row.
"""
import json
import pathlib
import sys

STEPS = 33
LONG_STEP = 20
ROWS_PER_STEP = 64


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "memory.jsonl", "w", encoding="utf-8") as file:
        for step in range(STEPS):
            length = 4096 if step == LONG_STEP else 512
            for _ in range(ROWS_PER_STEP):
                file.write(json.dumps({"text": "a" * length}) + "\n")


if __name__ == "__main__":
    main()
