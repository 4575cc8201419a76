"""Writes the results of perf/gpu/check.sh to OUTPUT/table.md: Trireme's figures beside PyTorch's, with required and
desired values. The table contains only results that are in one of the two folders.

    python3 perf/gpu/table.py OUTPUT [KEPT]
"""
import sys
from pathlib import Path

from memory_part import LEAST_RATIO, MOST_RATIO
from parts import read_json

LEAST_SPEED, LEAST_ATTENTION = 1.0, 0.8  # relative to PyTorch's compiled step and flash attention
GOAL_MFU = {"gpt2": 0.50, "llama-1b": 0.55}
GOAL_SPEED = {"gpt2": 1.15}
GOAL_ATTENTION = {("128 of 4,096", "forward"): 0.55, ("128 of 4,096", "backward"): 0.45}
NONE = "-"


def record_of(stage, folders):
    """Returns the newest record of a stage. It already includes older results of the same programs."""
    records = (read_json(folder / f"{stage}.json") for folder in reversed(folders))
    return next((record for record in records if record), {})


def get(tree, *names):
    for name in names:
        if not isinstance(tree, dict) or name not in tree:
            return None
        tree = tree[name]
    return tree


def number(value, form, scale=1.0, unit=""):
    return NONE if value is None else f"{value * scale:{form}}{unit}"


def ratio(a, b):
    return a / b if a is not None and b else None


def held_to(value, least=None, goal=None, form=".2f", scale=1.0, unit=""):
    """Formats a figure with its required and its desired value."""
    words = []
    for name, bar in (("required", least), ("goal", goal)):
        if bar is not None and value is not None:
            words.append(f"{name} {bar * scale:g}{unit}: {'yes' if value >= bar else '**no**'}")
    text = number(value, form, scale, unit)
    return f"{text} ({', '.join(words)})" if words else text


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def head(*cells):
    return [row(*cells), "|" + "---|" * len(cells)]


def product_rate(measured, peer):
    return get(measured, "rates", "gemm", "flops_per_s"), get(peer, "rates", "gemm", "flops_per_s")


def rates_table(measured, peer):
    ours, theirs = product_rate(measured, peer)
    rates = measured.get("rates", {})
    lines = head("", "Trireme", "PyTorch")
    lines.append(row("8,192^3 matmul in bf16", number(ours, ".0f", 1e-12, " TFLOP/s"),
                     number(theirs, ".0f", 1e-12, " TFLOP/s")))
    lines.append(row("copy within the GPU, reads plus writes",
                     number(get(rates, "copies", "within_the_gpu", "bytes_per_s"), ".0f", 1e-9, " GB/s"),
                     number(get(peer, "rates", "copy_within", "bytes_per_s"), ".0f", 1e-9, " GB/s")))
    for name, text in (("to_the_gpu", "copy to the GPU"), ("from_the_gpu", "copy from the GPU")):
        lines.append(row(text, number(get(rates, "copies", name, "bytes_per_s"), ".1f", 1e-9, " GB/s"), NONE))
    for name, text in (("one_behind_the_other", "an empty kernel, queued after another"),
                       ("waited_for", "an empty kernel, with a wait after it")):
        lines.append(row(text, number(get(rates, "starts", name, "median_s"), ".1f", 1e6, " us"), NONE))
    return lines


def flops_per_token(ours, theirs):
    """Returns Trireme's own count if its run recorded one, otherwise PyTorch's; the formulas are the same."""
    limit = get(ours, "model_flops_per_s", "limit")
    if limit and ours.get("mfu") and ours.get("tokens_per_s"):
        return ours["mfu"] * limit / ours["tokens_per_s"]
    return theirs.get("flops_per_token")


def memory_of(run):
    """Formats the peak memory that the run reports, and the peak that nvidia-smi saw."""
    own = run.get("peak_bytes")
    return f"{number(own, '.1f', 1e-9)} / {number(get(run, 'nvidia_smi', 'most_memory_mib'), '.1f', 2 ** 20 * 1e-9)}"


WAYS = {"": "PyTorch, compiled", ", bf16 between blocks": "PyTorch, compiled, bf16 between blocks",
        ", not compiled": "PyTorch, not compiled"}


def training_rows(model, measured, peer, rate):
    """Compares Trireme with the fastest of PyTorch's compiled steps."""
    ours = measured.get(f"train {model}", {})
    theirs = {name: peer.get(f"train {model}{way}", {}) for way, name in WAYS.items()}
    compiled = max((run["tokens_per_s"] for run in theirs.values() if run.get("compiled")), default=None)
    flops = flops_per_token(ours, next((run for run in theirs.values() if "flops_per_token" in run), {}))
    rows = []
    for name, run in {"Trireme": ours, **theirs}.items():
        speed = run.get("tokens_per_s")
        if speed is None:
            why = run.get("why", run.get("status", "not measured")).replace("|", "/")
            rows.append(row(model, name, why, *[NONE] * 5))
            continue
        if "why" in run:
            name += f" ({run['why'].replace('|', '/')})"
        beside = ratio(speed, compiled)
        share = ratio(speed * flops, rate) if flops else None
        if run is ours:
            beside = held_to(beside, LEAST_SPEED, GOAL_SPEED.get(model), unit=" x")
            share = held_to(share, None, GOAL_MFU.get(model), ".1f", 100, " %")
        else:
            beside, share = number(beside, ".2f", 1, " x"), number(share, ".1f", 100, " %")
        rows.append(row(model, f"{name}, {run['batch']} x {run['length']:,}", f"{speed:,.0f}", beside,
                        number(run.get("mfu"), ".1f", 100, " %"), share, memory_of(run),
                        number(run.get("joules_per_token"), ".2f", 1e3)))
    return rows


def models_of(measured, peer):
    names = [name.removeprefix("train ").split(",")[0] for name in [*measured, *peer] if name.startswith("train ")]
    return list(dict.fromkeys(names))


def training_table(measured, peer):
    ours, theirs = product_rate(measured, peer)
    lines = head("model", "program", "tokens/s", "relative to the fastest compiled PyTorch", "recorded MFU",
                 "relative to the 8,192^3 matmul", "peak GB, own / nvidia-smi", "mJ per token")
    for model in models_of(measured, peer):
        lines += training_rows(model, measured, peer, ours or theirs)
    return lines


def attention_table(measured, peer):
    lines = head("attention", "pass", "Trireme TFLOP/s", "relative to the 8,192^3 matmul", "PyTorch flash TFLOP/s",
                 "relative to flash", "PyTorch cuDNN TFLOP/s")
    others = {case["name"]: case for case in get(peer, "rates", "cases") or []}
    for case in get(measured, "attention", "cases") or []:
        text = f"{case['name']}: {case['samples']} x {case['length']:,}, {case['heads']} heads of {case['head_size']}"
        for name in ("forward", "backward"):
            own = case[name]["flops_per_s"]
            flash = get(others, case["name"], "flash", name, "flops_per_s")
            cudnn = get(others, case["name"], "cudnn", name, "flops_per_s")
            goal = GOAL_ATTENTION.get((case["name"], name))
            lines.append(row(text, name, number(own, ".0f", 1e-12),
                             held_to(case[name]["share"], None, goal, ".1f", 100, " %"),
                             number(flash, ".0f", 1e-12), held_to(ratio(own, flash), LEAST_ATTENTION, unit=" x"),
                             number(cudnn, ".0f", 1e-12)))
    return lines


def products_table(measured):
    lines = head("model", "matmul", "rows x in x out", "forward", "backward, input half", "backward, weight half")
    found = {}
    for one in get(measured, "rates", "products") or []:
        key = (one["model"], one["layer"], f"{one['rows']:,} x {one['in']:,} x {one['out']:,}")
        found.setdefault(key, []).append(f"{one['flops_per_s'] * 1e-12:.0f} TFLOP/s, {100 * one['share']:.0f} %")
    return lines + [row(*key, *cells) for key, cells in found.items()]


def joined_table(measured):
    lines = head("model", "fused operation", "matmul alone", "fused", "in a separate kernel")
    for one in get(measured, "rates", "joined") or []:
        times = (number(one[way], ".1f", 1e6, " us") for way in ("plain_s", "joined_s", "apart_s"))
        lines.append(row(one["model"], one["joined"], *times))
    return lines


def memory_table(measured):
    lines = head("model", "memory", "limit GB", "predicted GB", "grown GB", "grown / predicted",
                 "seconds of a long step", "offloaded GB", "hidden fraction of copies")
    one = measured.get("memory", {})
    for name, text, seconds in (("kept", "no limit", "kept_step_s"), ("fitted", "offload", "offloading_step_s")):
        if name not in one:
            continue
        is_fitted = name == "fitted"
        grown = one[name]["growth_to_predicted"]
        is_met = "yes" if LEAST_RATIO <= grown <= MOST_RATIO else "**no**"
        lines.append(row(one["model"], text, number(one["limit_bytes"] if is_fitted else None, ".2f", 1e-9),
                         number(one[name]["predicted_bytes"], ".2f", 1e-9),
                         number(one[name]["growth_bytes"], ".2f", 1e-9),
                         f"{grown:.3f} (required {LEAST_RATIO:g} to {MOST_RATIO:g}: {is_met})",
                         number(one[seconds], ".3f"),
                         number(one["offloaded_bytes"] if is_fitted else None, ".2f", 1e-9),
                         number(one["hidden"] if is_fitted else None, ".0f", 100, " %")))
    return lines


def test_table(tested):
    lines = head("test", "status", "result")
    for name, part in tested.items():
        if "differences" in part:
            what = f"losses differ by at most {max(part['differences'].values()):.2g}, limit {part['tolerance']:g}"
        elif "passed" in part:
            what = f"tests passed: {part['passed']}" + ("" if part.get("is_whole", True) else ", until the time limit")
        else:
            what = part.get("why") or part.get("left_out") or ""
        lines.append(row(name, part["status"], what.replace("|", "/")))
    return lines


def titled(title, lines):
    return [f"### {title}", "", *lines, ""] if len(lines) > 2 else []


def machine_lines(records):
    lines = []
    for stage, record in records.items():
        if record:
            versions = ", ".join(get(record, "programs", "version") or [])
            driver = get(record, "machine", "driver_version")
            lines.append(f"- {stage}: {record['device']}, driver {driver}; {versions}")
    return lines


def text_of(folders):
    records = {stage: record_of(stage, folders) for stage in ("test", "measure", "peer")}
    tested, measured, peer = (record.get("parts", {}) for record in records.values())
    lines = machine_lines(records) + [""]
    lines += titled("Tests", test_table(tested))
    lines += titled("Training", training_table(measured, peer))
    lines += titled("Memory and offload", memory_table(measured))
    lines += titled("Attention, causal, bf16", attention_table(measured, peer))
    lines += titled("Rates", rates_table(measured, peer) if measured or peer else [])
    lines += titled("Matmuls", products_table(measured))
    lines += titled("Operations fused with matmuls", joined_table(measured))
    return "\n".join(lines)


def write(output, kept):
    text = text_of([kept, output])
    (output / "table.md").write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write(folder, Path(sys.argv[2]) if len(sys.argv) > 2 else folder)
