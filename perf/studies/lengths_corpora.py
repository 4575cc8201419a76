#!/usr/bin/env python3
"""Writes the rows of the lengths study as JSON lines of token ids.

usage: perf/studies/lengths_corpora.py ROWS.jsonl FOLDER

FOLDER/spark-512.jsonl has the rows of ROWS.jsonl, cut at 512 tokens. FOLDER/spark-long.jsonl has them three times, and
one row of 4,096 tokens in their middle. With the 691 rows of apache/spark and 64 rows per step, this is one step in 32.
"""
import json
import pathlib
import sys

MAX_TOKENS = 512
LONG_TOKENS = 4096


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        for ids in rows:
            file.write(json.dumps({"ids": ids}) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    with open(sys.argv[1], encoding="utf-8") as file:
        all_ids = [json.loads(line)["ids"] for line in file]
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    rows = [ids[:MAX_TOKENS] for ids in all_ids]
    write(folder / "spark-512.jsonl", rows)
    tokens = [token for ids in all_ids for token in ids]
    repeated = 3 * rows
    middle = len(repeated) // 2
    write(folder / "spark-long.jsonl", repeated[:middle] + [tokens[:LONG_TOKENS]] + repeated[middle:])


if __name__ == "__main__":
    main()
