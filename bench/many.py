# SPDX-License-Identifier: Apache-2.0
#
# Programs too large for the tree, generated where they are measured: many small
# libraries, and crash_target linked with so much code that its debug information is as
# large as gdb's. Once made they are kept.

import os
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))

# Chosen so that the program has about 6 MB of text and 135 MB of DWARF.
UNITS = 45
TYPES_PER_UNIT = 17500
FUNCTIONS_PER_UNIT = 700


def compile_in_parallel(commands):
    jobs = os.cpu_count() or 1
    for first in range(0, len(commands), jobs):
        running = [subprocess.Popen(command) for command in commands[first : first + jobs]]
        for process in running:
            if process.wait() != 0:
                raise RuntimeError(" ".join(process.args))


def libraries(folder, count):
    """count shared libraries of a few functions each; their paths."""
    os.makedirs(folder, exist_ok=True)
    paths, commands = [], []
    for number in range(count):
        path = os.path.join(folder, f"libmany{number}.so")
        paths.append(path)
        if os.path.exists(path):
            continue
        source = os.path.join(folder, f"many{number}.c")
        with open(source, "w", encoding="ascii") as file:
            for function in range(20):
                file.write(f"int many_{number}_{function}(int x)"
                           f" {{ return x * {function + 3} + {number}; }}\n")
        commands.append(["gcc", "-O2", "-g", "-shared", "-fPIC", source, "-o", path])
    compile_in_parallel(commands)
    return paths


def unit(number):
    """A source file with many types, and functions that use them."""
    for t in range(TYPES_PER_UNIT):
        members = "".join(
            f" struct u{number}_t{max(0, t - 1 - m)} *member_{m}_of_{t};" if t else
            f" long member_{m};" for m in range(8))
        yield f"struct u{number}_t{t} {{ int id_{t}; char name_{t}[{t % 60 + 4}];{members} }};\n"
    for f in range(FUNCTIONS_PER_UNIT):
        t = (f * 2 + 1) % TYPES_PER_UNIT
        yield (f"static inline int u{number}_check_{f}(const struct u{number}_t{t} *it, int at)\n"
               f"{{\n int sum = at;\n for (int i = 0; i < at; i++) {{\n"
               f"  int next = it->id_{t} + it->name_{t}[i & 3] * {f + 1};\n"
               f"  sum ^= next << (i & 7);\n }}\n return sum;\n}}\n"
               f"int u{number}_f{f}(struct u{number}_t{t} *it, int a, long b)\n"
               f"{{\n int first = u{number}_check_{f}(it, a);\n"
               f" int second = u{number}_check_{f}(it, (int)b);\n"
               f" if (first > second)\n  it->id_{t} = first - second;\n"
               f" return first + second * {f};\n}}\n")


def large_program(folder):
    """crash_target with the units linked in; its path."""
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, "large_target")
    if os.path.exists(target):
        return target
    objects, commands = [], []
    for number in range(UNITS):
        source = os.path.join(folder, f"unit{number}.c")
        with open(source, "w", encoding="ascii") as file:
            file.writelines(unit(number))
        objects.append(source[:-1] + "o")
        commands.append(["gcc", "-g", "-fno-eliminate-unused-debug-types", "-c",
                         source, "-o", objects[-1]])
    compile_in_parallel(commands)
    subprocess.run(["gcc", "-O2", "-g", "-fno-optimize-sibling-calls",
                    "-I", os.path.dirname(HERE), os.path.join(HERE, "crash_target.c"),
                    *objects, "-o", target],
                   check=True)
    for made in objects:
        os.remove(made)
    return target
