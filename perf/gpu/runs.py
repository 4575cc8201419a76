"""Runs `trireme train` from the bundle and reads its records."""
import json
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

import machine
from parts import CommandFailure, Failure, read_json


# UCX settings for ranks of one machine. The bundle lacks the modules that UCX loads at run time. By default UCX
# would send long messages by TCP, over which MPICH 4.0 may hang when it ends.
SHARED_MEMORY = {"UCX_TLS": "sysv,posix,self", "UCX_POSIX_USE_PROC_LINK": "n"}


def environment(bundle):
    return {"LD_LIBRARY_PATH": machine.library_folders(bundle), "PATH": f"{bundle / 'bin'}:{os.environ['PATH']}",
            **SHARED_MEMORY}


def scratch():
    """Returns a folder in memory if it has enough space: runs end with a checkpoint that is never read."""
    folder = os.environ.get("SCRATCH", "/dev/shm")
    if os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 20e9:
        return folder
    return None


def steps_of(folder):
    try:
        lines = (folder / "steps.jsonl").read_text().splitlines()
    except OSError:
        return []
    records = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            break  # incomplete last line
        if "grad_norm" in record or "lr" in record:  # skips evaluations
            records.append(record)
    return records


class Run:
    """Runs a training and keeps its steps, summary and manifest; the run directory is removed."""

    def __init__(self, parts, bundle, options, ranks=1, seconds=60):
        folder = Path(tempfile.mkdtemp(dir=scratch()))
        words = [bundle / "bin/trireme", "train", *options, "--quiet", "--run-dir", folder / "run"]
        if ranks > 1:
            words = [bundle / "bin/mpiexec.hydra", "-launcher", "fork", "-n", ranks, *words]
        self.complaint = None
        try:
            parts.command(words, seconds, environment(bundle))
        except CommandFailure as failure:
            self.complaint = str(failure)
        finally:
            self.steps = steps_of(folder / "run")
            self.summary = read_json(folder / "run/summary.json")
            self.manifest = read_json(folder / "run/manifest.json")
            shutil.rmtree(folder, ignore_errors=True)

    def losses(self, steps):
        """Returns the losses of all steps. Raises a Failure if the run failed or a loss is missing."""
        if self.complaint:
            raise Failure(self.complaint)
        if len(self.steps) < steps or any("loss" not in step for step in self.steps):
            raise Failure(f"only {sum('loss' in step for step in self.steps)} of {steps} steps have a loss")
        return [step["loss"] for step in self.steps]


def figures(run, warm_up):
    """Summarises the steps after the warm-up, including those of a run that failed later. Values that the records lack
    are omitted."""
    steps = run.steps[warm_up:]
    if not steps:
        raise Failure(run.complaint or "no step was recorded after the warm-up")
    seconds = [step["seconds"] for step in steps]
    tokens = sum(step["tokens"] for step in steps)
    result = {"steps": len(steps), "step_s": median(seconds), "least_step_s": min(seconds), "most_step_s": max(seconds),
              "tokens_per_s": median(step["tokens"] / step["seconds"] for step in steps),
              "first_loss": run.steps[0].get("loss"), "last_loss": steps[-1].get("loss")}
    for name in ("mfu", "mfu_causal", "bubble"):
        if all(name in step for step in steps):
            result[name] = median(step[name] for step in steps)
    if all("peak_bytes" in step for step in steps):
        result["peak_bytes"] = max(step["peak_bytes"] for step in steps)
    if all("energy_j" in step for step in steps):
        result["joules_per_token"] = sum(step["energy_j"] for step in steps) / tokens
    for name in ("memory_bytes", "model_flops_per_s", "peak_is", "verdict"):
        if name in run.summary:
            result[name] = run.summary[name]
    for name in ("device", "dtype", "precision", "parameters", "mpi"):
        if name in run.manifest:
            result[name] = run.manifest[name]
    if run.complaint:
        result |= {"status": "failed", "why": run.complaint}
    return result
