"""Runs the parts of a stage of perf/gpu/check.sh. Each part has a time limit, can fail without affecting the others,
and is recorded as soon as it ends, so that an interrupted stage resumes where it stopped."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path


class Failure(Exception):
    """Reports why a part failed."""


class CommandFailure(Failure):
    """Reports that a command failed; `text` is its output."""

    def __init__(self, why, text):
        super().__init__(why)
        self.text = text


class Late(CommandFailure):
    """Reports that a command exceeded its time limit."""


def read_json(path):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError):
        return {}


class Parts:
    def __init__(self, stage, facts, output, kept, limit):
        self.path = output / f"{stage}.json"
        self.log = open(output / f"{stage}.log", "a", encoding="utf-8")
        self.end = time.monotonic() + limit
        done = {}
        for folder in (kept, output):
            before = read_json(folder / f"{stage}.json")
            if all(before.get(name) == facts[name] for name in ("device", "programs", "settings")):
                done |= {name: part for name, part in before.get("parts", {}).items() if part["status"] == "done"}
        self.record = {"stage": stage, **facts, "parts": done}
        self.is_good = True

    def seconds_left(self):
        return self.end - time.monotonic()

    def say(self, text):
        print(text, flush=True)
        print(text, file=self.log, flush=True)

    def run(self, name, work):
        """Records the dictionary that work() returns, unless the part already has a result."""
        if name in self.record["parts"]:
            self.say(f"{name}: already done")
            return
        if self.seconds_left() < 5:
            self.finish(name, {"status": "no time left"})
            return
        self.say(f"{name} ...")
        begin = time.monotonic()
        try:
            part = {"status": "done", **work()}
        except Failure as failure:
            part = {"status": "failed", "why": str(failure)}
        except Exception as error:  # an error in one part must not affect the others
            part = {"status": "failed", "why": f"{type(error).__name__}: {error}"}
        part["took_s"] = round(time.monotonic() - begin, 1)
        self.finish(name, part)

    def finish(self, name, part):
        self.is_good = self.is_good and part["status"] == "done"
        self.record["parts"][name] = part
        self.say(f"{name}: {part['status']}" + (f": {part['why']}" if "why" in part else ""))
        whole = self.path.with_suffix(".new")  # a stage may be stopped at any time
        whole.write_text(json.dumps(self.record, indent=1) + "\n")
        whole.replace(self.path)

    def command(self, words, seconds, env=None, codes=(0,)):
        """Returns the output of a command. Raises a Failure if it takes too long or ends with another exit code."""
        words = [str(word) for word in words]
        seconds = max(1, min(seconds, self.seconds_left()))
        print("$", *words, file=self.log, flush=True)
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", env={**os.environ, **(env or {})},
                              start_new_session=True) as process:
            is_late = False
            try:
                text, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                is_late = True
                text = end(process)
        print(text, file=self.log, flush=True)
        if is_late:
            raise Late(f"time limit of {seconds:.0f} s exceeded: {last_line(text)}", text)
        if process.returncode not in codes:
            raise CommandFailure(f"exit code {process.returncode}: {last_line(text)}", text)
        return text


def end(process):
    """Ends all processes of a command and returns its output."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def last_line(text):
    """Returns the last line that a program printed; Trireme's own messages come before a launcher's."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("trireme:")]
    return (own or lines or ["no output"])[-1][:300]
