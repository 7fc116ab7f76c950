# SPDX-License-Identifier: Apache-2.0
#
# how_to_add ROOT: what CONTRIBUTING.md says under "How to add" is true: the files that
# it names exist, and a signal that is added to a copy of the tree, in the files and
# the order that it gives, is a setting, has a name, and compiles.

import os
import re
import shutil
import subprocess
import sys
import tempfile

import source_tree

PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`")

# The new signal, and where its neighbour stands in each file.
EDITS = {
    "base/settings.c": [("QUIT XCPU XFSZ", "QUIT XCPU XFSZ STKFLT"),
                        (r"SIGXCPU, SIGXFSZ \};", "SIGXCPU, SIGXFSZ, SIGSTKFLT };")],
    "report/signal_name.c": [(r'(\{ SIGXFSZ, .*\n)',
                              r'\1    { SIGSTKFLT, "SIGSTKFLT", "stack fault" },' "\n")],
    "handler/crash_say.c": [(r"\\31XFSZ", r"\\31XFSZ\\20STKFLT")],
}

PROGRAM = """
#include <signal.h>
#include <string.h>
#include "base/settings.h"
#include "report/signal_name.h"
static const char *get(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "CRASHHOOK_SIGNALS") == 0 ? "SEGV,STKFLT" : NULL;
}
int main(void)
{
    struct settings settings;
    settings_read(&settings, get, NULL, NULL);
    return (settings.signals >> SIGSTKFLT & 1) != 0 &&
           strcmp(signal_name(SIGSTKFLT), "SIGSTKFLT") == 0 ? 0 : 1;
}
"""


def section(root):
    text = source_tree.read(root, "CONTRIBUTING.md")
    return text.split("## How to add\n", 1)[1].split("\n## ", 1)[0]


def add_signal(root, copy, said):
    """Adds a signal to the files that the recipe names; problems, or none."""
    for folder in ("base", "report", "handler", "include"):
        shutil.copytree(os.path.join(root, folder), os.path.join(copy, folder))
    recipe = said[said.index("**A signal**") : said.index("**A variable**")]
    for path in EDITS:
        if f"`{path}`" not in recipe:
            yield f"CONTRIBUTING.md:1: a signal is not added without {path}"
        text = source_tree.read(copy, path)
        for old, new in EDITS[path]:
            text, count = re.subn(old, new, text)
            if count == 0:
                yield f"{path}:1: there is no '{old}', which a new signal stands beside"
        with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
            file.write(text)


def compile_and_run(copy):
    with open(os.path.join(copy, "main.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror", f"-I{copy}",
             f"-I{copy}/include"]
    program = os.path.join(copy, "program")
    built = subprocess.run(
        ["cc", *flags, "-o", program, "main.c", "base/settings.c", "report/signal_name.c"],
        cwd=copy, check=False)
    crash = subprocess.run(["cc", *flags, "-ffreestanding", "-c", "handler/crash_say.c",
                            "-o", os.path.join(copy, "crash_say.o")], cwd=copy, check=False)
    if built.returncode != 0 or crash.returncode != 0:
        return ["CONTRIBUTING.md:1: a tree with one more signal does not compile"]
    if subprocess.run([program], check=False).returncode != 0:
        return ["CONTRIBUTING.md:1: the signal that was added is not understood"]
    return []


def main(root):
    said = section(root)
    named = PATH.findall(said)
    problems = [f"CONTRIBUTING.md:1: there is no {path}" for path in named
                if not os.path.exists(os.path.join(root, path))]
    with tempfile.TemporaryDirectory() as copy:
        problems += add_signal(root, copy, said)
        problems = problems or compile_and_run(copy)
    source_tree.report("how_to_add", problems, len(named))


if __name__ == "__main__":
    main(sys.argv[1])
