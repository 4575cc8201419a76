#!/usr/bin/env python3
"""Records what Hugging Face's models compute, as references for Trireme's tests.

    make_records.py                   writes every record beside this file
    make_records.py vit bert_span     only these
    make_records.py --check           builds them again and compares; exit code 1 if they differ

Needs numpy, torch, transformers, safetensors and h5py. See README.md for what the files hold.
"""

import argparse
import pathlib
import sys

import h5py
import numpy as np
import torch
import transformers

import bert
import gpt2
import llama
import vit
from cases import SEED
from record import STEPS, make_record

CASES = {case.name: case for family in (gpt2, llama, bert, vit) for case in family.CASES}


def write_tree(place, tree):
    for name, value in tree.items():
        if isinstance(value, dict):
            write_tree(place.require_group(name), value)
        elif isinstance(value, str):
            place[name] = np.bytes_(value)
        else:
            is_integer = np.issubdtype(np.asarray(value).dtype, np.integer)
            place[name] = np.asarray(value, dtype=np.int32) if is_integer else value


def write(path, record, distance):
    with h5py.File(path, "w") as file:
        file.attrs["made by"] = "validation/reference/make_records.py"
        file.attrs["seed"] = SEED
        for module in (torch, transformers, np):
            file.attrs[module.__name__] = str(module.__version__)
        file.attrs["distance from the formula"] = distance
        write_tree(file, record)


def datasets(path):
    found = {}
    with h5py.File(path, "r") as file:

        def keep(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item[()]

        file.visititems(keep)
    return found


def differences(committed, rebuilt):
    """Yields what differs from the committed record. Rounding may differ between machines; inputs may not."""
    if committed.keys() != rebuilt.keys():
        yield f"only one of the two files contains {sorted(committed.keys() ^ rebuilt.keys())}"
        return
    for name, old in committed.items():
        new = rebuilt[name]
        if name == "config.json":
            is_same = new == old
        elif name.startswith("float32_errors/"):
            is_same = new <= max(4 * old, 1e-5)
        elif name.split("/")[0] in ("optimizer", "batch", "weights", "choices") or name == "frozen/depths":
            is_same = np.array_equal(old, new)
        else:
            # Gradients of keys' biases are 0 but for rounding.
            is_same = np.abs(new - old).max() <= 1e-10 * max(np.linalg.norm(old), 1e-3)
        if not is_same:
            yield f"{name} differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"records to build; default: {', '.join(CASES)}")
    parser.add_argument("--check", action="store_true", help="build them again and compare with the committed files")
    options = parser.parse_args()
    for name in options.names:
        if name not in CASES:
            parser.error(f"there is no record {name}; the records are {', '.join(CASES)}")
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    failures = 0
    for name in options.names or CASES:
        path = pathlib.Path(__file__).parent / f"{name}.h5"
        target = path.with_suffix(".rebuilt") if options.check else path
        record, distance = make_record(CASES[name])
        write(target, record, distance)
        print(f"{path.name}: loss {record['loss']:.12f}, after {STEPS} steps {record['losses'][-1]:.12f}, "
              f"{distance:.1e} from the formula, {target.stat().st_size} bytes")  # fmt: skip
        if options.check:
            for line in differences(datasets(path), datasets(target)):
                print(f"  {line}")
                failures += 1
            target.unlink()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
