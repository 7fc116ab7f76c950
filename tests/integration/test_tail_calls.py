# SPDX-License-Identifier: Apache-2.0
#
# Functions that ended by a tail call and so left no frame. Random programs call in all
# forms: through tail calls, several of which may lead to one function, and through pointers.
# A report shows each function that gdb shows where one chain alone fits, and none that gdb
# does not show.

import os
import random
import re
import shutil
import subprocess
import unittest

import harness
from harness import Scene

PROGRAMS = 30 if harness.FULL else 5
FUNCTIONS = 7
HEAD = """
#include <stdio.h>
#define APART __attribute__((noinline, noclone))
volatile int sink;
int *volatile nothing;
"""
# What a function does after it counted: it calls one or two of those below it.
FORMS = {
    "call": "int got = {a}(n + 1); return got + sink;",
    "tail": "return {a}(n + 2);",
    "choice": "if (n % 3 == 0) return {a}(n); return {b}(n + 1);",
    "twice": "if (n % 2 == 0) {{ sink++; return {a}(n); }} return {a}(n + 5);",
    "pointer": "return table[{at}](n + 1);",
}
OFTEN = ["tail"] * 7 + list(FORMS)
# gdb leaves out the function that the jump was inlined into.
INLINED = HEAD + """
APART int last(int n) { sink = n; return *nothing + n; }
static inline __attribute__((always_inline)) int through(int n) { sink++; return last(n); }
APART int first(int n) { sink += 2; return through(n + 1); }
int main(void) { int got = first(3); printf("%d\\n", got); return got; }
"""


def write_program(path, draw):
    lines = [HEAD]
    names = [f"f{i}" for i in range(FUNCTIONS)]
    lines += [f"APART int {name}(int n);" for name in names]
    lines.append(f"int (*volatile table[])(int) = {{{', '.join(names)}}};")
    for i, name in enumerate(names[:-1]):
        a, b = (draw.randrange(i + 1, min(i + 4, FUNCTIONS)) for _ in range(2))
        body = FORMS[draw.choice(OFTEN)].format(a=names[a], b=names[b], at=a)
        lines.append(f"APART int {name}(int n) {{ sink += {i}; {body} }}")
    lines.append(f"APART int {names[-1]}(int n) {{ sink = n; return *nothing + n; }}")
    lines.append(f"int main(void) {{ int got = f0({draw.randrange(9)}); "
                 f"printf(\"%d\\n\", got); return got; }}")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def functions_of_gdb(program):
    done = subprocess.run(["gdb", "-nx", "-batch", "-ex", "run", "-ex", "bt", program],
                          check=True, capture_output=True, text=True, timeout=120)
    found = re.findall(r"^#\d+ +(?:0x\w+ in )?(\w+) ", done.stdout, re.M)
    return found[:found.index("main") + 1]


def functions_of(thread):
    """The functions of a thread to main, and how many of them are inferred."""
    names, inferred = [], 0
    for frame in harness.frames_of(thread):
        names.append(frame.get("function"))
        callers = [one["function"] for one in frame.get("tail_callers", ())]
        names += callers
        inferred += len(callers)
        if names[-1] == "main":
            break
    return names, inferred


def is_part_of(some, others):
    """Whether some are others in their order, where others may have more."""
    rest = iter(others)
    return all(name in rest for name in some)


@unittest.skipIf(shutil.which("gdb") is None, "gdb is not installed")
class TailCalls(unittest.TestCase):
    def test_functions_that_are_gone_are_those_that_gdb_shows(self):
        print(f"seed {harness.SEED}, {PROGRAMS} programs")
        draw = random.Random(harness.SEED)
        inferred = fewer = 0
        with Scene() as scene:
            for number in range(PROGRAMS):
                program = os.path.join(scene.folder, f"tail{number}")
                write_program(program + ".c", draw)
                subprocess.run(["gcc", "-O2", "-g", program + ".c", "-o", program], check=True)
                theirs = functions_of_gdb(program)
                before = set(scene.report_paths())
                scene.run([program], CRASHHOOK_ARGUMENTS="yes")
                reports = scene.reports()
                new, = set(scene.report_paths()) - before
                report = next(one for one in reports if one["id"] in new)
                ours, count = functions_of(harness.crashed_thread(report))
                inferred += count
                fewer += ours != theirs
                self.assertTrue(is_part_of(ours, theirs), f"{number}: {ours} for {theirs}")
        # Where several chains fit, gdb shows what they have in common.
        print(f"{inferred} functions inferred, {fewer} stacks with fewer than gdb has")
        self.assertGreaterEqual(inferred, PROGRAMS)

    def test_a_jump_in_an_inlined_function_is_of_both(self):
        with Scene() as scene:
            program = os.path.join(scene.folder, "inlined")
            with open(program + ".c", "w", encoding="ascii") as file:
                file.write(INLINED)
            subprocess.run(["gcc", "-O2", "-g", program + ".c", "-o", program], check=True)
            scene.run([program], CRASHHOOK_ARGUMENTS="yes")
            report, = scene.reports()
            self.assertEqual(functions_of(harness.crashed_thread(report)),
                             (["last", "through", "first", "main"], 2))
            self.assertIn("first [inferred, gone by a tail call]", scene.command("show").stdout)


if __name__ == "__main__":
    harness.main()
