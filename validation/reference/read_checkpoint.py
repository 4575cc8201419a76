#!/usr/bin/env python3
"""Reads a checkpoint as any other program would, and reports any difference.

    read_checkpoint.py PROGRAM CHECKPOINT     PROGRAM is the path of trireme, CHECKPOINT a folder step-N

Every tensor that model.h5 shows through h5py is compared, bit for bit, with the boxes in the parts, and every
parameter with what `trireme convert` exports as safetensors. If HDF5's tool h5dump is installed, the bytes
that it writes for each tensor of model.h5 are also compared. Prints a line per reader; exit code 1 if anything
differs.

Needs numpy and h5py.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

FIELDS = ("parameters", "moment1", "moment2")


def of_model(folder):
    """Returns all arrays that model.h5 shows, by path."""
    arrays = {}
    with h5py.File(folder / "model.h5", "r") as file:
        for field in FIELDS:
            for name, dataset in file.get(field, {}).items():
                assert dataset.is_virtual, f"/{field}/{name} is not virtual"
                arrays[f"/{field}/{name}"] = dataset[()]
    return arrays


def of_parts(folder, shapes):
    """Returns the same arrays from the parts' boxes, and how many of them lie in several boxes."""
    boxes = {path: [] for path in shapes}
    for part in folder.glob("part-*.h5"):
        with h5py.File(part, "r") as file:
            for field in FIELDS:
                for name, dataset in file.get(field, {}).items():
                    tensor, *box = re.fullmatch(r"(.*)\[(\d+):(\d+),(\d+):(\d+)\]", name).groups()
                    boxes[f"/{field}/{tensor}"].append((*map(int, box), dataset[()]))
    arrays = {path: joined(boxes[path], *shapes[path]) for path in shapes}
    return arrays, sum(len(each) > 1 for each in boxes.values())


def joined(boxes, shape, kind):
    """Joins the boxes of the matrix that a tensor is to the program, and returns the tensor."""
    rows, columns = (max((box[end] for box in boxes), default=0) for end in (1, 3))
    matrix = numpy.full((rows, columns), numpy.nan, kind)
    for row, row_end, column, column_end, values in boxes:
        matrix[row:row_end, column:column_end] = values
    return matrix.reshape(shape)


def of_export(program, folder):
    """Returns the parameters that `trireme convert` writes, read according to the format's description."""
    arrays = {}
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "export"
        subprocess.run([program, "convert", folder, out], check=True, stdout=subprocess.DEVNULL)
        for file in out.glob("*.safetensors"):
            data = file.read_bytes()
            end = 8 + int.from_bytes(data[:8], "little")
            for name, tensor in json.loads(data[8:end]).items():
                if name == "__metadata__":
                    continue
                first, last = tensor["data_offsets"]
                kind = {"F32": "<f4", "F64": "<f8"}[tensor["dtype"]]
                values = numpy.frombuffer(data[end + first : end + last], kind).reshape(tensor["shape"])
                arrays[f"/parameters/{name}"] = values
    return arrays


def of_h5dump(folder, shapes):
    """Returns what h5dump writes for each array."""
    arrays = {}
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "bytes"
        for path, (shape, kind) in shapes.items():
            command = ["h5dump", "-d", path, "-b", "LE", "-o", out, folder / "model.h5"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            arrays[path] = numpy.fromfile(out, kind).reshape(shape)
    return arrays


def differences(shown, found):
    """Returns the paths of arrays that are not equal bit for bit, or not in both."""
    paths = sorted(shown.keys() | found.keys())
    same = lambda a, b: a is not None and b is not None and a.shape == b.shape and a.tobytes() == b.tobytes()
    return [path for path in paths if not same(shown.get(path), found.get(path))]


def report(what, shown, found):
    wrong = differences(shown, found)
    print(f"{what}: {len(found)} tensors, {len(wrong)} differ {' '.join(wrong[:3])}".rstrip())
    return not wrong and bool(found)


def main(program, folder):
    shown = of_model(folder)
    shapes = {path: (array.shape, array.dtype) for path, array in shown.items()}
    parts, in_several = of_parts(folder, shapes)
    parameters = {path: array for path, array in shown.items() if path.startswith("/parameters/")}
    good = report(f"parts ({in_several} tensors in several boxes)", shown, parts)
    good &= report("trireme convert", parameters, of_export(program, folder))
    if shutil.which("h5dump"):
        good &= report("h5dump", shown, of_h5dump(folder, shapes))
    else:
        print("h5dump: not installed (Debian: hdf5-tools)")
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
