"""Stage `test`: kernels on the GPU against the reference, under NVIDIA's sanitizer, and ranks that share the GPU."""
import re
from pathlib import Path

import machine
import runs
from parts import CommandFailure, Failure, Late

STEPS = 10
RECORDS = Path(__file__).resolve().parents[2] / "validation/reference"  # recorded from Hugging Face models

# The attention tests take longest, so they run separately and the other tests get their own time. Races are
# searched for in kernels whose threads share memory.
ATTENTION = "*Attention*:*Scores*"
SANITIZED = {"memcheck": f"*-{ATTENTION}",
             "racecheck": "*Norm*:*CrossEntropy*:*Embedding*:*Sums*:*Logit*:*Span*:*Linear*:*TensorCoresTake*"}

LAYOUTS = {
    1: {"again": []},
    2: {"pipe 2": ["--pipe", 2, "--microbatches", 4], "data 2": ["--data", 2],
        "tensor 2": ["--tensor", 2, "--sequence-parallel", "on"]},
    4: {"pipe 2, data 2": ["--pipe", 2, "--data", 2, "--microbatches", 2], "tensor 4": ["--tensor", 4],
        "pipe 2, tensor 2": ["--pipe", 2, "--tensor", 2, "--microbatches", 4, "--schedule", "zb-h1"]},
}

# Allowed relative difference of losses between ranks that share a device, by data type.
TOLERANCES = {"f64": 1e-10, "f32": 1e-5, "bf16": 1e-2}


def tallied(text):
    """Counts the passed tests and lists the names of the failed ones."""
    good = len(re.findall(r"^\[       OK \]", text, re.MULTILINE))
    bad = sorted(set(re.findall(r"^\[  FAILED  \] (\S+\.\S+?)(?:,| \(|$)", text, re.MULTILINE)))
    return {"passed": good, "failed": bad}


def described(tally):
    return f"tests passed: {tally['passed']}; tests failed: {', '.join(tally['failed']) or 'none'}"


def device_tests(parts, bundle, program, seconds):
    environment = {**runs.environment(bundle), "TRIREME_RECORDS": str(RECORDS)}
    try:
        text = parts.command([bundle / "bin" / program], seconds, environment, codes=(0, 1))
    except CommandFailure as failure:
        raise Failure(f"{failure}; {described(tallied(failure.text))}") from None
    result = tallied(text)
    if result["failed"] or not result["passed"]:
        raise Failure(described(result))
    return result


# Matches findings of the sanitizer. OF_THE_PROCESS matches findings about the process, which is stopped at its
# time limit.
FINDING = r"^=+ ((?:Error|Warning|Invalid|Misaligned|Uninitialized|Fatal)\b.*)"
OF_THE_PROCESS = "[Tt]arget application|didn't terminate|intermediate process"


def sanitize(parts, bundle, tool, tests, seconds):
    """Runs tests under a sanitizer tool. A timeout is not a failure of the kernels: tests that ran until then count."""
    program = machine.sanitizer()
    if program is None:
        return {"left_out": "compute-sanitizer was not found"}
    words = [program, "--tool", tool, "--error-exitcode", 9, "--print-limit", 20, "--report-api-errors", "no",
             bundle / "bin/gpu_kernels_on_device", f"--gtest_filter={tests}"]
    failure = None
    try:
        text = parts.command(words, seconds, runs.environment(bundle))
    except CommandFailure as ended:
        failure, text = ended, ended.text
    if "Device not supported" in text:
        return {"left_out": "compute-sanitizer does not support this device"}
    found = [line for line in re.findall(FINDING, text, re.MULTILINE) if not re.search(OF_THE_PROCESS, line)]
    result = tallied(text) | {"is_whole": failure is None}
    if found or result["failed"]:
        raise Failure(f"{tool} reports: {(found or result['failed'])[0]}")
    if failure is not None and not isinstance(failure, Late):
        raise failure
    if not result["passed"]:
        raise Failure(f"no test ended within {seconds} s")
    return result


def options(bundle, model, dtype, device="cuda"):
    return ["--model", model, "--corpus", bundle / "text.h5", "--device", device, "--dtype", dtype, "--batch", 8,
            "--steps", STEPS, "--max-length", 128, "--long", "truncate", "--length", "pack", "--validation-share", 0,
            "--threads", 2]


def difference(losses, others):
    return max(abs(a - b) / abs(b) for a, b in zip(losses, others))


def share_gpu(parts, bundle, model, dtype):
    """Compares all layouts with one rank, and one rank with the CPU kernels."""
    one = runs.Run(parts, bundle, options(bundle, model, dtype)).losses(STEPS)
    differences = {}
    if dtype != "bf16":
        core = runs.Run(parts, bundle, options(bundle, model, dtype, "cpu"))
        differences["1 rank, beside a processor"] = difference(one, core.losses(STEPS))
    for ranks, layouts in LAYOUTS.items():
        for name, layout in layouts.items():
            run = runs.Run(parts, bundle, options(bundle, model, dtype) + layout, ranks)
            differences[f"{ranks} ranks, {name}" if ranks > 1 else "1 rank, again"] = difference(run.losses(STEPS), one)
    wrong = [f"{name}: {value:.2g}" for name, value in differences.items() if not value <= TOLERANCES[dtype]]
    if differences["1 rank, again"] != 0:
        wrong.append("a second run of one rank has different losses")
    if wrong:
        raise Failure(f"losses differ by more than {TOLERANCES[dtype]:g}: {'; '.join(wrong)}")
    return {"steps": STEPS, "first_loss": one[0], "last_loss": one[-1], "differences": differences,
            "tolerance": TOLERANCES[dtype]}


def doctor(parts, bundle):
    text = parts.command([bundle / "bin/trireme", "doctor"], 60, runs.environment(bundle), codes=(0, 3))
    return {"says": text.splitlines()}


def run(parts, bundle, _output):
    parts.run("doctor", lambda: doctor(parts, bundle))
    parts.run("kernels", lambda: device_tests(parts, bundle, "gpu_kernels_on_device", 200))
    parts.run("models", lambda: device_tests(parts, bundle, "gpu_model_on_device", 60))
    for model, dtypes in {"gpt2-tiny": ["f64", "f32", "bf16"], "llama-tiny": ["f32", "bf16"]}.items():
        for dtype in dtypes:
            parts.run(f"ranks {model} {dtype}",
                      lambda model=model, dtype=dtype: share_gpu(parts, bundle, model, dtype))
    for tool, others in SANITIZED.items():
        for name, tests in {"attention": ATTENTION, "others": others}.items():
            parts.run(f"{tool}, {name}", lambda tool=tool, tests=tests: sanitize(parts, bundle, tool, tests, 60))
