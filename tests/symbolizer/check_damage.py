# SPDX-License-Identifier: Apache-2.0
#
# check_damage CRASHHOOK ROUNDS SEED: the debug information of a program is damaged at
# random and a report of it is symbolized. Whatever happens to the names, the report
# comes back whole: every frame, revision 1, a problem for what went wrong.

import json
import os
import random
import subprocess
import sys
import tempfile

import harness

SECONDS_MAX = 70  # the command's own limit is 60


def places_of(path):
    """(offset, size) of everything that is read for names."""
    return [(offset, size) for name, _, offset, size in harness.sections(path)
            if name.startswith((".debug", ".symtab", ".strtab", ".gnu_debug"))]


def report_of(path, original):
    start, size = harness.code_of(original)
    base = 0x555500000000
    frames = [{"kind": "ra", "address": hex(base + a)}
              for a in range(start, start + size, 37)]
    return {"schema": "crashhook.report/1", "id": "damage", "revision": 0,
            "threads": [{"tid": 1, "backtrace": {"frames": frames}}],
            "images": [{"path": path, "build_id": harness.build_id_of(original),
                        "base": hex(base), "end_of_text": hex(base + start + size + 4096)}]}


def damage(chosen, data, places):
    data = bytearray(data)
    for _ in range(chosen.choice([1, 1, 4, 32, 256])):
        offset, size = chosen.choice(places)
        at = offset + chosen.randrange(max(size, 1))
        data[at] = chosen.choice([0, 0xff, 0x80, 0x7f, chosen.randrange(256)])
    if chosen.random() < 0.1:
        del data[chosen.randrange(len(data)):]
    return data


def check_round(crashhook, report_path, wanted):
    done = subprocess.run([crashhook, "symbolize", "--no-cache", report_path], capture_output=True,
                          text=True, timeout=SECONDS_MAX, check=False)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr}", 0, 0
    result = json.loads(done.stdout)
    frames = result["threads"][0]["backtrace"]["frames"]
    physical = [f["address"] for f in frames if not f["inline"]]
    if physical != wanted or result["revision"] != 1:
        return "frames were lost", 0, 0
    if any("function" not in f and "symbol_status" not in f for f in frames):
        return "a nameless frame does not say why", 0, 0
    named = sum("function" in f for f in frames)
    return None, named, len(result.get("problems", []))


def main(crashhook, rounds, seed):
    chosen = random.Random(seed)
    failed = crashed = named = 0
    with tempfile.TemporaryDirectory() as folder:
        original = harness.build_shapes(folder)
        with open(original, "rb") as file:
            data = file.read()
        places = places_of(original)
        path = os.path.join(folder, "program")
        report_path = os.path.join(folder, "report.json")
        report = report_of(path, original)
        wanted = [f["address"] for f in report["threads"][0]["backtrace"]["frames"]]
        with open(report_path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        for number in range(rounds):
            with open(path, "wb") as file:
                file.write(damage(chosen, data, places))
            complaint, names, problems = check_round(crashhook, report_path, wanted)
            named += names
            crashed += problems != 0
            if complaint:
                failed += 1
                print(f"round {number}: {complaint}")
    print(f"{rounds} damaged files, seed {seed}: {crashed} brought a child down, "
          f"{failed} reports lost, {named} frames named")
    sys.exit(1 if failed or named == 0 else 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
