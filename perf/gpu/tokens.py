"""Makes rows of random ids for perf/gpu/check.sh, and a vocabulary of any size in GPT-2's format: every byte, pairs of
bytes, then triples, and the end token. Training on these rows reads the whole token table.

    python3 perf/gpu/tokens.py FOLDER 50257    makes FOLDER/rows.jsonl and FOLDER/vocabulary
    trireme prepare FOLDER/rows.jsonl --tokenizer gpt2:FOLDER/vocabulary --output tokens.h5
"""
import itertools
import json
import random
import sys
from pathlib import Path

ROWS = 256
TOKENS = 1025  # per row: a sample of 1,024 tokens, and the target of its last one


def letters_of_bytes():
    """Returns the letters for bytes as in GPT-2's files, which map unprintable bytes to letters after the first 256."""
    seen = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in seen]
    return [chr(byte) if byte in seen else chr(256 + hidden.index(byte)) for byte in range(256)]


def write_vocabulary(folder, size):
    letters = letters_of_bytes()
    pairs = [first + second for first in letters for second in letters]
    longer = itertools.chain(itertools.product(letters, letters), itertools.product(pairs, letters))
    merges = list(itertools.islice(longer, size - len(letters) - 1))
    tokens = [*letters, *(first + second for first, second in merges), "<|endoftext|>"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "encoder.json").write_text(json.dumps({token: number for number, token in enumerate(tokens)}))
    (folder / "vocab.bpe").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))


def main():
    folder, size = Path(sys.argv[1]), int(sys.argv[2])
    write_vocabulary(folder / "vocabulary", size)
    numbers = random.Random(1)
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        for _ in range(ROWS):
            file.write(json.dumps({"ids": [numbers.randrange(size - 1) for _ in range(TOKENS)]}) + "\n")


if __name__ == "__main__":
    main()
