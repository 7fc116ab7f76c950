# SPDX-License-Identifier: Apache-2.0
#
# The cases of tests/truth and tests/sentences that crash through a null pointer, or a small
# number, name the same variable on AArch64. The programs are cross-built and run under
# qemu-user, whose cores have neither the fault's address nor its code: both are inferred
# from the instruction.
#
# A reduced number of cases is chosen at random; CRASHHOOK_FULL=1 runs them all. CRASHHOOK_SEED
# repeats a choice, and words as arguments choose runs.

import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "sentences"), os.path.join(HERE, "..", "integration")]

import families
import harness
import sentence_cases
import test_core_aarch64
import test_sentences
from harness import crashed_thread, names_of

REDUCED_RUNS = 15
LEVELS = ("O0", "O1", "O2")
KINDS = {"null-dereference", "small-pointer"}
# Where a function of the C library keeps its pointers depends on its version.
UNHELPFUL_MAX_PERCENT = 25 if harness.FULL else 50


def every_run(words):
    builds = [(f"gcc {level}", level) for level in LEVELS]
    with tempfile.TemporaryDirectory(prefix="crashhook-truth.") as folder:
        families.write_sources(folder)
        cases = [case for of in (HERE, folder, sentence_cases.FOLDER)
                 for case in sentence_cases.all_cases(of, (".c",))]
        sources = {case.source: open(case.source, encoding="utf-8").read() for case in cases}
    runs = [test_sentences.Run(case, build, level, "core") for case in cases
            for build, level in builds
            if KINDS & set(case.get("kind", "").split("|")) and "variable" in case.keys and
            case.is_for(build, "core") and "run" not in case.keys]
    return [run for run in runs if all(word in str(run) for word in words)], sources


def build(scene, run, sources, built):
    key = (run.case.source, run.build)
    if key not in built:
        name = os.path.basename(run.case.source)
        source = os.path.join(scene.folder, name)
        with open(source, "w", encoding="utf-8") as file:
            file.write(sources[run.case.source])
        command = [test_core_aarch64.COMPILER, f"-{run.command}", "-g", "-pthread", "-w"]
        command, program = sentence_cases.compile_case(source, run.build, command, scene.folder)
        done = subprocess.run(command, capture_output=True, check=False)
        built[key] = program if done.returncode == 0 else None
    return built[key]


def judge(scene, run, program):
    try:
        core = scene.crash(program, run.case.name)
    except AssertionError:  # a case that needs another machine ends with 77
        return "skipped", ""
    report = scene.report(core, "--exe", program, "--sysroot", test_core_aarch64.SYSROOT)
    os.remove(core)
    crash = report["crash"]
    function = run.case.get("in", run.case.name)
    names = names_of(crashed_thread(report))
    if function != "-" and not any(function in name for name in names):
        return "wrong", f"{function} is not among {names}"
    variable = crash.get("variable", {}).get("expression", "none")
    if test_sentences.names_variable(run.case, variable):
        return "right", ""
    told = f"variable {variable} for {run.case.get('variable')}: {crash['summary']}"
    return ("unhelpful" if variable == "none" else "wrong"), told


def main():
    seed = int(os.environ.get("CRASHHOOK_SEED", "1"))
    runs, sources = every_run(sys.argv[1:])
    chosen = runs
    if not harness.FULL and not sys.argv[1:]:
        chosen = random.Random(seed).sample(runs, min(REDUCED_RUNS, len(runs)))
    scene = test_core_aarch64.ForeignScene()
    counts, built = collections.Counter(), {}
    try:
        for run in chosen:
            program = build(scene, run, sources, built)
            result, told = judge(scene, run, program) if program else ("skipped", "")
            counts[result] += 1
            if told:
                print(f"{result.upper()} {run}: {told}")
    finally:
        shutil.rmtree(scene.folder, ignore_errors=True)
    done = counts["right"] + counts["unhelpful"] + counts["wrong"]
    share = 100 * counts["unhelpful"] / max(done, 1)
    print(f"{done} of {len(runs)} runs, seed {seed}: {counts['right']} right, "
          f"{counts['unhelpful']} unhelpful ({share:.1f} %), {counts['wrong']} wrong, "
          f"{counts['skipped']} skipped")
    enough = done > len(chosen) // 2
    return 1 if counts["wrong"] or not enough or share > UNHELPFUL_MAX_PERCENT else 0


if __name__ == "__main__":
    if test_core_aarch64.QEMU is None or shutil.which(test_core_aarch64.COMPILER) is None:
        print("test_truth_aarch64: no qemu-user or no cross compiler here")
        sys.exit(77)
    try:
        sys.exit(main())
    except unittest.SkipTest as why:
        print(f"test_truth_aarch64: {why}")
        sys.exit(77)
