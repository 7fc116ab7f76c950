# SPDX-License-Identifier: Apache-2.0
#
# What a report says of a crash is true, whatever language and compiler the program was
# made by, and whether it was reported live or from its core file. sentence_cases.py has
# the form of the cases. A wrong sentence fails the test, unless differences.txt lists it
# with the reason; an unhelpful one is counted.
#
# A reduced number of runs is chosen at random, every case at least once; CRASHHOOK_FULL=1
# makes them all. CRASHHOOK_SEED repeats a choice, and words as arguments choose cases.

import collections
import fnmatch
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import harness
import sentence_cases
from harness import Scene, crashed_thread, names_of

REDUCED_RUNS = 110
UNHELPFUL_MAX_PERCENT = 5


class Impossible(Exception):
    """This machine cannot make the crash; the program says why and ends with 77."""


class Run:
    """One program, built in one way, with one case, reported in one way."""

    def __init__(self, case, build, command, way):
        self.case, self.build, self.command, self.way = case, build, command, way

    def __str__(self):
        source = os.path.basename(self.case.source)
        return f"{source} {self.case.name} {self.build} {self.way}"


def every_run(words, cases=None, builds=sentence_cases.BUILDS, ways=("live", "core")):
    runs = []
    for case in cases or sentence_cases.all_cases():
        for build, command in builds[os.path.splitext(case.source)[1]]:
            for way in ways:
                run = Run(case, build, command, way)
                if case.is_for(build, way) and all(word in str(run) for word in words):
                    runs.append(run)
    return runs


def every_case(runs, count, seed):
    """A random choice that has every case."""
    if len(runs) <= count:
        return runs
    chance = random.Random(seed)
    shuffled = chance.sample(runs, len(runs))
    firsts = {}
    for run in shuffled:
        firsts.setdefault((run.case.source, run.case.name), run)
    chosen = list(firsts.values())
    others = [run for run in shuffled if run not in chosen]
    chosen += others[:max(0, count - len(chosen))]
    return [run for run in runs if run in chosen]


class Programs:
    """Builds each program once."""

    def __init__(self, folder):
        self.folder = folder
        self.built = {}

    def of(self, run):
        """The program's path; None: this machine has no such compiler."""
        key = (run.case.source, run.build)
        if key not in self.built:
            self.built[key] = self.build(run)
        return self.built[key]

    def build(self, run):
        command, program = sentence_cases.compile_case(run.case.source, run.build,
                                                       run.command, self.folder)
        if shutil.which(command[0]) is None:
            return None
        environment = dict(os.environ, GO111MODULE="off", GOFLAGS="",
                           GOCACHE=os.environ.get("GOCACHE", "/tmp/go-build-cache"))
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, cwd=self.folder, env=environment)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stderr}")
        return program


def variables_of(case):
    return dict(pair.split("=", 1) for pair in case.get("run", "").split())


def refuse_impossible(ended):
    if ended.status == 77:
        raise Impossible(ended.stdout.strip())


def shown(case, scene, *command):
    """The report as a terminal has it, where the case needs that."""
    needed = {"shows", "never"} & case.keys.keys()
    return scene.command(*command).stdout if needed else ""


def live_report(program, case, trace=False):
    """What ended the program, and its report. Go has no handler to preload: it is traced."""
    with Scene() as scene:
        command = [program, case.name]
        if trace or program.endswith(("go-O0", "go-O2")):
            scene.preload = None
            command = [harness.CRASHHOOK, "run", "--via", "trace", "--", *command]
        ended = scene.run(command, **variables_of(case))
        reports = scene.reports()
        refuse_impossible(ended)
        if len(reports) != 1:
            raise AssertionError(f"{len(reports)} reports: {ended.stderr}")
        text = shown(case, scene, "show", *scene.report_paths())
    return ended, reports[0], text


def core_report(program, case):
    with Scene() as scene:
        scene.preload = None
        ended = scene.run([program, case.name], core=True, **variables_of(case))
        refuse_impossible(ended)
        core = scene.core(ended.pid)
        if core is None:
            raise AssertionError(f"no core: {ended.signal} {ended.status} {ended.stderr}")
        done = scene.command("core", core, "--json")
        if done.returncode != 0:
            raise AssertionError(f"crashhook core: {done.stderr}")
        text = shown(case, scene, "core", core)
    return ended, json.loads(done.stdout), text


def check_access(wanted, crash):
    access = crash.get("access", {})
    if wanted == "none":
        return [] if "expression" not in access else [f"access {access}"]
    found = [str(access.get(key)) for key in ("operation", "size", "address")]
    same = all(fnmatch.fnmatchcase(a, b) for a, b in zip(found, wanted.split()))
    return [] if same else [f"access {' '.join(found)} for {wanted}"]


def names_variable(case, variable):
    return "variable" not in case.keys or re.match(case.get("variable") + "$", variable)


def check_facts(run, ended, report, forgiving):
    """What is wrong beside the sentence."""
    case, crash = run.case, report["crash"]
    wrong = []
    number = signal.Signals["SIG" + case.get("signal", "SEGV")]
    if ended.signal != number:
        wrong.append(f"ended by {ended.signal} for {number}")
    if "kind" in case.keys and crash["kind"] not in case.get("kind").split("|"):
        wrong.append(f"kind {crash['kind']} for {case.get('kind')}")
    if "access" in case.keys:
        wrong += check_access(case.get("access"), crash)
    variable = crash.get("variable", {}).get("expression", "none")
    if not names_variable(case, variable) and not (forgiving and variable == "none"):
        wrong.append(f"variable {variable} for {case.get('variable')}")
    cause = crash.get("provenance", {}).get("kind", "none")
    if cause not in case.get("cause", "none").split("|"):
        wrong.append(f"cause {cause} for {case.get('cause', 'none')}")
    function = case.get("in", case.name)
    names = names_of(crashed_thread(report))
    if function != "-" and not any(function in name for name in names):
        wrong.append(f"{function} is not among {names}")
    return wrong


def expressions(case, key):
    return case.get(key).split(" ;; ") if key in case.keys else []


def check(run, ended, report, text, forgiving):
    """(what is wrong, whether the report helps)"""
    wrong = check_facts(run, ended, report, forgiving)
    helps = names_variable(run.case,
                           report["crash"].get("variable", {}).get("expression", "none"))
    wrong += [f"{each} is not shown" for each in expressions(run.case, "shows")
              if not re.search(each, text)]
    wrong += [f"{each} is shown" for each in expressions(run.case, "never")
              if re.search(each, text)]
    summary = report["crash"]["summary"]
    says = run.case.get(run.way, run.case.get("says"))
    if says is None or re.match(says, summary):
        return wrong, helps or not forgiving
    if "true" in run.case.keys and re.match(run.case.get("true"), summary):
        return wrong, False
    return wrong + [f"summary: {summary}"], True


def listed_differences():
    """Patterns of runs that may be wrong, with their reasons."""
    with open(os.path.join(HERE, "differences.txt"), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line.split(":", 1)[0].strip() for line in lines
            if line and not line.startswith("#")]


def main(runs=None, reduced=REDUCED_RUNS, forgiving=False, choose=every_case):
    """forgiving: a report that does not name the variable is not wrong, but does not help."""
    seed = int(os.environ.get("CRASHHOOK_SEED", "1"))
    if harness.no_cores():
        print(f"skipped: {harness.no_cores()}")
        return 77
    runs = runs or every_run(sys.argv[1:])
    chosen = runs if harness.FULL or sys.argv[1:] else choose(runs, reduced, seed)
    listed = listed_differences()
    counts = collections.Counter()
    folder = tempfile.mkdtemp(prefix="crashhook-sentences.")
    try:
        programs = Programs(folder)
        for run in chosen:
            judge(run, programs, listed, counts, forgiving)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    done = counts["right"] + counts["unhelpful"] + counts["wrong"] + counts["listed"]
    share = 100 * counts["unhelpful"] / max(done, 1)
    print(f"{done} of {len(runs)} runs of {len({(r.case.source, r.case.name) for r in runs})} "
          f"cases, {len({(r.case.source, r.build, r.case.name) for r in chosen})} programs, "
          f"seed {seed}: {counts['right']} right, {counts['unhelpful']} unhelpful "
          f"({share:.1f} %), {counts['listed']} listed differences, {counts['wrong']} wrong, "
          f"{counts['skipped']} skipped")
    return 1 if counts["wrong"] or (harness.FULL and share > UNHELPFUL_MAX_PERCENT) else 0


def judge(run, programs, listed, counts, forgiving):
    program = programs.of(run)
    if program is None:
        counts["skipped"] += 1
        return
    try:
        if run.way == "core":
            ended, report, text = core_report(program, run.case)
        else:
            ended, report, text = live_report(program, run.case, run.way == "trace")
        wrong, helps = check(run, ended, report, text, forgiving)
    except Impossible as error:
        print(f"skipped {run}: {error}")
        counts["skipped"] += 1
        return
    except (AssertionError, KeyError, subprocess.TimeoutExpired) as error:
        wrong, helps, report = [repr(error)], True, None
    is_listed = any(fnmatch.fnmatchcase(str(run), pattern) for pattern in listed)
    if wrong and not is_listed:
        counts["wrong"] += 1
        print(f"WRONG {run}: {'; '.join(wrong)}")
    elif wrong:
        counts["listed"] += 1
    else:
        counts["right" if helps else "unhelpful"] += 1
        if not helps:
            print(f"unhelpful {run}: {report['crash']['summary']}")


if __name__ == "__main__":
    sys.exit(main())
