# SPDX-License-Identifier: Apache-2.0
#
# Programs of Debian, and ours, are damaged at a random call while they work (harm.c), and
# crash somewhere later. The report comes from the same process as the core file: a frame
# that is not guessed, a value that is not doubted and a variable that is called proved must
# be what gdb finds in the core.
#
# CRASHHOOK_SEED repeats a choice. Where gdb itself cannot say, nothing is compared.

import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import harness
from harness import Scene, crashed_thread, physical_frames
import gdb_compare

CRASHES = 500 if harness.FULL else 8
TRIES_PER_CRASH = 8
LIMIT_S = 20
KINDS = ("word", "return", "page", "head", "block", "pointer")

QUERY = ("CREATE TABLE t(a, b); INSERT INTO t WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
         "SELECT x + 1 FROM n LIMIT 900) SELECT x, hex(x) FROM n; "
         "SELECT a % 7, max(b) FROM t GROUP BY 1 ORDER BY 2;")
PROGRAMS = [
    ["/usr/bin/sqlite3", ":memory:", QUERY],
    ["/usr/bin/python3", "-c", "import json; print(json.dumps([{'a': i} for i in range(99)]))"],
    ["/usr/bin/perl", "-e", "my %h; $h{$_ % 17} .= \"$_,\" for 1..999; print sort values %h"],
    ["/usr/bin/bc", "TEXT"], ["/usr/bin/jq", ".", "JSON"], ["/usr/bin/sort", "-k2", "TEXT"],
    ["/usr/bin/awk", "{ s[$1 % 9] = s[$1 % 9] $1 } END { for (i in s) print s[i] }", "TEXT"],
    ["/usr/bin/sed", "s/\\([0-9]\\)/<\\1>/g", "TEXT"], ["/usr/bin/grep", "-E", "(1|2)+3", "TEXT"],
    ["/usr/bin/find", "/usr/share/doc", "-maxdepth", "1", "-name", "*a*"],
    ["/usr/bin/ls", "-lR", "/usr/share/perl"], ["/usr/bin/tar", "-cf", "/dev/null", "/usr/share/perl"],
    ["/usr/bin/xz", "-c", "TEXT"], ["/usr/bin/gzip", "-c", "TEXT"], ["/usr/bin/diff", "TEXT", "JSON"],
    ["/usr/bin/git", "hash-object", "TEXT"], ["/usr/bin/openssl", "dgst", "-sha256", "TEXT"],
    ["/usr/bin/bash", "-c", "for i in {1..200}; do x[$i]=$i$i; done; echo ${x[*]}"],
    ["/usr/bin/file", "TEXT"], ["/usr/bin/du", "/usr/share/perl"],
    ["/usr/bin/readelf", "-a", "/usr/bin/true"], ["/usr/bin/objdump", "-d", "/usr/bin/true"],
    ["/usr/bin/nm", "-D", "/usr/bin/bash"], ["/usr/bin/ld", "--verbose"],
    ["/usr/bin/m4", "TEXT"], ["/usr/bin/make", "-f", "/dev/null", "-p"],
    ["/usr/bin/curl", "--help", "all"], ["/usr/bin/id"], ["/usr/bin/dpkg", "-l"],
    [harness.CRASHHOOK, "symbolize", "--help"], [harness.CRASHHOOK, "types", "dump", "HARM"],
    [harness.CRASHHOOK, "doctor"],
]


def programs():
    """Those that are installed, but for xz where it confines itself."""
    names = {entry[0] for entry in gdb_compare.programs()}
    return [command for command in PROGRAMS
            if os.access(command[0], os.X_OK) and
            (command[0] != "/usr/bin/xz" or "xz" in names)]


class Material:
    """The library that does harm, and what programs read."""

    def __init__(self, folder):
        self.paths = {name: os.path.join(folder, name) for name in ("TEXT", "JSON", "HARM")}
        with open(self.paths["TEXT"], "w", encoding="utf-8") as file:
            file.writelines(f"{i * 7 % 1000} + {i % 13}\n" for i in range(600))
        with open(self.paths["JSON"], "w", encoding="utf-8") as file:
            json.dump([{"id": i, "name": "n" * (i % 9)} for i in range(200)], file)
        subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", "-o", self.paths["HARM"],
                        os.path.join(HERE, "harm.c")], check=True)

    def command(self, words):
        return [self.paths.get(word, word) for word in words]


def gdb_values(executable, core, expressions):
    done = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex",
         f'file "{executable}"', "-ex", f"core-file {core}", "-x",
         os.path.join(HERE, "gdb_values.py")], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        env=dict(os.environ, CRASHHOOK_EXPRESSIONS=json.dumps(expressions)))
    for line in done.stdout.split("\n"):
        if line.startswith("VALUES "):
            return json.loads(line[7:])
    raise AssertionError(f"gdb says nothing of {core}: {done.stdout[-500:]}")


def as_number(value):
    """The number that a value of a report is; None: it is no number."""
    if value is None:
        return 0
    if isinstance(value, dict):
        value = value.get("address")
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    try:
        return int(value, 16)
    except (TypeError, ValueError):
        return None


def same(ours, theirs):
    bits = (1 << 64) - 1
    return theirs is None or ours is None or (ours & bits) == (theirs & bits)


def is_code(report, address):
    return any(int(image["base"], 16) <= address < int(image["end_of_text"], 16)
               for image in report["images"])


def wrong_frames(report, theirs):
    """Frames that are not guessed and that gdb does not have, and how many there are. Where
    gdb comes to what is no code, it has lost the stack."""
    thread = crashed_thread(report)
    count = 0
    first = int(thread["registers"]["rip"], 16) if "then" in report["crash"] else None
    if first in theirs:  # the program's own handler crashed, too: the core is of that
        theirs = theirs[theirs.index(first):]
    for ours, pc in zip(physical_frames(thread), theirs):
        if ours.get("trust") == "scan" or (count > 0 and not is_code(report, pc)):
            break
        count += 1
        if int(ours["address"], 16) != pc:
            return [f"frame {count - 1} is {ours['address']} ({ours.get('function')}, "
                    f"{ours.get('trust')}) for {pc:#x}"], count
    return [], count


def gdb_errs(frame, value):
    """gdb 13 evaluates an entry value in an inlined call with another frame's registers: its
    own `preg@entry` of the function around glibc's set_regs is not what it has as `preg`."""
    return frame.get("inline") and value.get("source") == "dwarf-entry-value"


def wrong_values(report, said):
    """Values of frames that differ from gdb's, and how many were compared."""
    wrong, count = [], 0
    frames = crashed_thread(report)["backtrace"]["frames"]
    for ours, theirs in zip([f for f in frames if "address" in f or f.get("inline")],
                            said["frames"]):
        same_place = not ours.get("inline") and int(ours["address"], 16) == theirs["pc"]
        if ours.get("trust") == "scan" or (ours.get("function") != theirs["function"] and
                                           not same_place):
            break
        for one in ours.get("arguments", []) + ours.get("locals", []):
            mine = as_number(one["value"]) if "value" in one else None
            other = theirs["values"].get(one.get("name"))
            if (mine is None or other is None or gdb_errs(ours, one) or
                    one.get("confidence") in ("likely", "guess")):
                continue
            count += 1
            if not same(mine, other):
                wrong.append(f"{ours['function']}: {one['name']} = {one['value']} "
                             f"for {other:#x}")
    return wrong, count


def wrong_variable(report, said):
    variable = report["crash"].get("variable", {})
    mine = as_number(variable["value"]) if "value" in variable else None
    if variable.get("confidence") != "proved" or same(mine, said["evaluated"][0]):
        return []
    return [f"{variable['expression']} is {variable['value']} for {said['evaluated'][0]:#x}"]


def expressions_of(report):
    variable = report["crash"].get("variable", {})
    frames = crashed_thread(report)["backtrace"]["frames"]
    at = variable.get("frame", 0)
    while at < len(frames) and "address" not in frames[at]:
        at += 1
    pc = int(frames[at]["address"], 16) if at < len(frames) else 0
    return [[pc, variable.get("expression", "0")]]


def judge(material, words, chance, counts):
    """Runs a program once. True: it crashed, and was compared."""
    kind = chance.choice(KINDS)
    call, seed = chance.choice((3, 40, 120, 400)) + chance.randrange(40), chance.randrange(1 << 30)
    with Scene() as scene:
        scene.preload = f"{material.paths['HARM']} {harness.HANDLER}"
        try:
            ended = scene.run(material.command(words), core=True, timeout=LIMIT_S,
                              HARM_KIND=kind, HARM_CALL=str(call), HARM_SEED=str(seed))
        except subprocess.TimeoutExpired:
            return False
        core = scene.core(ended.pid)
        reports = [each for each in scene.reports() if each["process"]["pid"] == ended.pid]
        if ended.signal == 0 or core is None or len(reports) != 1:
            return False
        theirs = gdb_compare.gdb_frames(words[0], core)
        said = gdb_values(words[0], core, expressions_of(reports[0]))
    wrong, frames = wrong_frames(reports[0], theirs.get(ended.pid, []))
    values, compared = wrong_values(reports[0], said)
    wrong += values + wrong_variable(reports[0], said)
    counts["frames"] += frames
    counts["values"] += compared
    counts["variables"] += "variable" in reports[0]["crash"]
    counts["wrong"] += len(wrong)
    for each in wrong:
        print(f"WRONG {os.path.basename(words[0])} {kind} {call} {seed}: {each}; "
              f"{reports[0]['crash']['summary']}")
    return True


def main():
    if harness.no_cores():
        print(f"skipped: {harness.no_cores()}")
        return 77
    seed = int(os.environ.get("CRASHHOOK_SEED", "1"))
    chance = random.Random(seed)
    counts = dict.fromkeys(("frames", "values", "variables", "wrong"), 0)
    victims, crashes, tries = programs(), 0, 0
    with tempfile.TemporaryDirectory(prefix="crashhook-harm.") as folder:
        material = Material(folder)
        while crashes < CRASHES and tries < CRASHES * TRIES_PER_CRASH:
            tries += 1
            crashes += judge(material, chance.choice(victims), chance, counts)
    print(f"{crashes} crashes of {len(victims)} programs in {tries} runs, seed {seed}: "
          f"{counts['frames']} frames, {counts['values']} values and {counts['variables']} "
          f"variables compared, {counts['wrong']} wrong")
    return 1 if counts["wrong"] or crashes < CRASHES else 0


if __name__ == "__main__":
    sys.exit(main())
