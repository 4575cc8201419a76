"""Finds libraries and tools of a machine with a GPU, and samples nvidia-smi while a command runs."""
import glob
import importlib.util
import os
import shutil
import subprocess
import threading


def library_folders(bundle):
    """Returns LD_LIBRARY_PATH: the folders of the bundle's libraries, cuBLASLt, NCCL and the driver."""
    folders = [str(bundle / "lib"), *folders_of("libcublasLt.so.13")[:1], *folders_of("libnccl.so.2")[:1],
               *os.environ.get("LD_LIBRARY_PATH", "").split(":"), "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"]
    return ":".join(dict.fromkeys(folder for folder in folders if folder))


def folders_of(library):
    """Returns the folders that contain a library: CUDA's own folders, or Python packages, as PyTorch installs them."""
    found = []
    spec = importlib.util.find_spec("nvidia")
    packages = list(spec.submodule_search_locations or []) if spec else []
    for folder in ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu",
                   *(place for package in packages for place in sorted(glob.glob(f"{package}/*/lib"))),
                   *sorted(glob.glob("/usr/local/cuda-13*/lib64"))]:
        if os.path.exists(f"{folder}/{library}"):
            found.append(folder)
    return found


def sanitizer():
    places = ["/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer", "/usr/local/cuda/extras/compute-sanitizer",
              *sorted(glob.glob("/opt/nvidia/*/compute-sanitizer")), os.environ.get("PATH", "")]
    return shutil.which("compute-sanitizer", path=":".join(places))


def query(fields):
    """Returns the fields that nvidia-smi reports for the first GPU."""
    words = ["nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits", "-i", "0"]
    try:
        text = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(fields, (value.strip() for value in text.split(","))))


def facts():
    return query(["name", "driver_version", "memory.total", "clocks.max.sm", "clocks.max.memory", "power.limit",
                  "temperature.gpu", "clocks.sm"])


class Watch:
    """Samples memory, power and clock by nvidia-smi twice a second while the context is open."""

    FIELDS = "memory.used,power.draw,clocks.sm"

    def __enter__(self):
        self.rows = []
        self.process = subprocess.Popen(
            ["nvidia-smi", f"--query-gpu={self.FIELDS}", "--format=csv,noheader,nounits", "-i", "0", "-lms", "500"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        return self

    def read(self):
        for line in self.process.stdout:
            try:
                self.rows.append([float(value) for value in line.split(",")])
            except ValueError:
                continue  # "[N/A]"

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.reader.join(timeout=5)

    def seen(self):
        if not self.rows:
            return {}
        memory, power, clock = zip(*self.rows)
        return {"nvidia_smi": {"most_memory_mib": max(memory), "highest_power_w": max(power),
                               "lowest_sm_mhz": min(clock), "highest_sm_mhz": max(clock), "samples": len(self.rows)}}
