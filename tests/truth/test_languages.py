# SPDX-License-Identifier: Apache-2.0
#
# Ten crashes each of Fortran, Ada, D and Rust, without and with optimization. The report
# comes from the same process as the core file: a frame that is not guessed and a value that
# is not doubted must be what gdb finds in the core.

import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import gdb_compare
import harness
import test_harm
from harness import Scene
from place import no_rust, rust_compiler

CRASHES = 10
# Compiler, source, and a flag for each level.
LANGUAGES = {
    "fortran": (["gfortran", "-g", "-w"], "corpus.f90", ("-O0", "-O2")),
    "ada": (["gnatmake", "-q", "-g"], "corpus.adb", ("-O0", "-O2")),
    "d": (["gdc", "-g", "-w"], "corpus.d", ("-O0", "-O2")),
    "rust": ([rust_compiler(), "-g", "-Awarnings"], "corpus.rs",
             ("-Copt-level=0", "-Copt-level=2")),
}


# What a report names as the null pointer, where gdb's values do not tell: an array that is
# associated with nothing.
NULLS = {("fortran -O0", 0): "at", ("fortran -O0", 5): "at"}


def build(language, level, folder):
    """The program's path; None: this machine lacks the compiler."""
    compiler, source, _ = LANGUAGES[language]
    if shutil.which(compiler[0]) is None or (language == "rust" and no_rust()):
        return None
    program = os.path.join(folder, language + level.replace("=", ""))
    subprocess.run([*compiler, level, os.path.join(HERE, "languages", source), "-o", program],
                   cwd=folder, check=True)
    return program


def judge(name, program, way, counts):
    with Scene() as scene:
        ended = scene.run([program, str(way)], core=True, timeout=test_harm.LIMIT_S,
                          CRASHHOOK_ARGUMENTS="yes", GFORTRAN_ERROR_BACKTRACE="0")
        assert ended.signal != 0, f"{name} {way} did not crash: {ended}"
        core = scene.core(ended.pid)
        report = scene.reports()[0]  # gfortran's abort leaves two
        theirs = gdb_compare.gdb_frames(program, core)
        said = test_harm.gdb_values(program, core, test_harm.expressions_of(report))
    wrong, frames = test_harm.wrong_frames(report, theirs.get(ended.pid, []))
    values, compared = test_harm.wrong_values(report, said)
    wrong += values + test_harm.wrong_variable(report, said)
    variable = report["crash"].get("variable", {})
    null = NULLS.get((name, way))
    if null and (variable.get("expression"), variable.get("value", 0)) != (null, None):
        wrong.append(f"{variable} is not the null pointer {null}")
    counts["frames"] += frames
    counts["values"] += compared
    counts["wrong"] += len(wrong)
    for each in wrong:
        print(f"WRONG {name} {way}: {each}; {report['crash']['summary']}")


def main():
    if shutil.which("gdb") is None or harness.no_cores():
        print(f"skipped: {harness.no_cores() or 'no gdb'}")
        return 77
    counts = dict.fromkeys(("crashes", "frames", "values", "wrong"), 0)
    chance = random.Random(harness.SEED)
    with tempfile.TemporaryDirectory(prefix="crashhook-languages.") as folder:
        for language, (_, _, levels) in LANGUAGES.items():
            for level in levels:
                program = build(language, level, folder)
                if program is None:
                    print(f"skipped: no compiler of {language}")
                    continue
                ways = range(CRASHES) if harness.FULL else chance.sample(range(CRASHES), 1)
                for way in ways:
                    judge(f"{language} {level}", program, way, counts)
                    counts["crashes"] += 1
    print(f"seed {harness.SEED}: {counts['crashes']} crashes, {counts['frames']} frames and "
          f"{counts['values']} values compared, {counts['wrong']} wrong")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
