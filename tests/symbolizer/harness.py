# SPDX-License-Identifier: Apache-2.0
#
# What the checks of this folder share: programs that are run, what their files hold by
# other tools, the fixtures as a program, and how checks are told.

import os
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CASES = os.path.join(TOP, "tests", "cases")
COMPILERS = [("gcc", "g++"), ("clang", "clang++")]
SHAPES = [os.path.join(HERE, "fixtures", name) for name in ("shapes.cc", "plain.c")]


def run(*command, cwd=None, text="", env=None):
    """What the command prints; it must succeed."""
    done = subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True,
                          errors="replace", env=env, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def is_refused(done):
    """Whether the command failed with one line and nothing else."""
    return done.returncode == 1 and done.stderr.count("\n") == 1 and not done.stdout


def sections(path):
    """(name, address, offset, size) of each section of an ELF file."""
    for line in run("readelf", "-SW", path).split("\n"):
        words = line.replace("[ ", "[").split()
        if len(words) > 6 and words[0][1:-1].isdigit():
            yield words[1], int(words[3], 16), int(words[4], 16), int(words[5], 16)


def code_of(path):
    """Where the file's .text is linked to, and its size."""
    for name, address, _, size in sections(path):
        if name == ".text":
            return address, size
    return sys.exit(f"{path} has no .text")


def build_id_of(path):
    """The build ID, or None."""
    for line in run("readelf", "-nW", path).split("\n"):
        if "Build ID:" in line:
            return line.split()[-1]
    return None


def symbol_address(path, name):
    """Where nm says that the function is, whose mangled name begins with name."""
    return next(int(line.split()[0], 16) for line in run("nm", path).split("\n")
                if len(line.split()) == 3 and line.split()[2].startswith(name))


def build_shapes(folder, compilers=COMPILERS[0], flags=("-g", "-O2"), link=()):
    """The fixtures as one program in folder."""
    objects = []
    for source in SHAPES:
        compiler = compilers[1] if source.endswith(".cc") else compilers[0]
        objects.append(os.path.basename(source) + ".o")
        run(compiler, *flags, "-ffunction-sections", "-c", source, "-o", objects[-1],
            cwd=folder)
    run(compilers[1], *flags, "-rdynamic", "-Wl,--build-id", *link, *objects, "-o",
        "shapes", cwd=folder)
    return os.path.join(folder, "shapes")


def tell(checks):
    """Runs (name, function) pairs, prints how each ended, and ends the program."""
    failed = 0
    for name, check in checks:
        try:
            check()
            print(f"ok   {name}")
        except AssertionError as error:
            failed += 1
            line = [place.lineno for place in traceback.extract_tb(error.__traceback__)
                    if place.filename != __file__][-1]
            print(f"FAIL {name}: line {line}: {error}")
    sys.exit(1 if failed else 0)
