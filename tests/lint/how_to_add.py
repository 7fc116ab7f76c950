# SPDX-License-Identifier: Apache-2.0
#
# how_to_add ROOT: what CONTRIBUTING.md says under "How to add" is true: the files that
# it names exist, and a signal and a variable that are added to a copy of the tree, in the
# files that it gives, are understood, have names, and compile.

import os
import re
import shutil
import subprocess
import sys
import tempfile

import source_tree

PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)`")

# What is added, in which files, and where its neighbour stands in each.
EDITS = {
    "A signal": {
        "shared/signals.h": [(r'(    ROW\(XFSZ, .*\n)',
                            r'\1    ROW(STKFLT, DUMP, "stack fault") \\\n')],
    },
    "A variable": {
        "base/settings/settings.h": [(r"(    const char \*release;\n)",
                             r"\1    const char *ward;\n")],
        "shared/settings_table.h": [(r'(    ROW\("CRASHHOOK_RELEASE")',
                                   r'    ROW("CRASHHOOK_WARD", "ward", STRING, ward, \\\n'
                                   r'        "", "a text", "", "The ward.") \\\n\1')],
        "include/crashhook/crashhook.h": [(r"(    const char \*log;\n)", r"\1    const char *ward;\n")],
        "handler/prepare/variables.c": [(r"(    SETTING_AT_log,\n)", r"\1    SETTING_AT_ward,\n")],
    },
}

PROGRAM = """
#include <signal.h>
#include <string.h>
#include "base/settings/settings.h"
#include "report/summary/signal_name.h"
static const char *get(void *context, const char *name)
{
    (void)context;
    if (strcmp(name, "CRASHHOOK_WARD") == 0)
        return "east";
    return strcmp(name, "CRASHHOOK_SIGNALS") == 0 ? "SEGV,STKFLT" : NULL;
}
int main(void)
{
    struct settings settings;
    settings_read(&settings, get, NULL, NULL);
    return (settings.signals >> SIGSTKFLT & 1) != 0 &&
           strcmp(signal_name(SIGSTKFLT), "SIGSTKFLT") == 0 &&
           strcmp(settings.ward, "east") == 0 ? 0 : 1;
}
"""


def section(root):
    text = source_tree.read(root, "CONTRIBUTING.md")
    return text.split("## How to add\n", 1)[1].split("\n## ", 1)[0]


def add_to(copy, what, said):
    """Changes the files that the recipe names; problems, or none."""
    recipe = said[said.index(f"**{what}**") :].split("\n- **", 1)[0]
    for path, changes in EDITS[what].items():
        if f"`{path}`" not in recipe:
            yield f"CONTRIBUTING.md:1: {what.lower()} is not added without {path}"
        text = source_tree.read(copy, path)
        for old, new in changes:
            text, count = re.subn(old, new, text)
            if count == 0:
                yield f"{path}:1: there is no '{old}', which the new one stands beside"
        with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
            file.write(text)


def compile_and_run(copy):
    with open(os.path.join(copy, "main.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Werror", f"-I{copy}",
             f"-I{copy}/include"]
    program = os.path.join(copy, "program")
    sources = ["main.c", "base/settings/settings.c", "shared/signals.c", "report/summary/signal_name.c"]
    built = subprocess.run(["cc", *flags, "-o", program, *sources], cwd=copy, check=False)
    crash = subprocess.run(["cc", *flags, "-ffreestanding", "-c", "handler/crash/crash_say.c",
                            "-o", os.path.join(copy, "crash_say.o")], cwd=copy, check=False)
    options = subprocess.run(["cc", *flags, "-c", "handler/prepare/variables.c",
                              "-o", os.path.join(copy, "variables.o")], cwd=copy, check=False)
    if built.returncode != 0 or crash.returncode != 0 or options.returncode != 0:
        return ["CONTRIBUTING.md:1: a tree with one more of each does not compile"]
    if subprocess.run([program], check=False).returncode != 0:
        return ["CONTRIBUTING.md:1: what was added is not understood"]
    return []


def main(root):
    said = section(root)
    named = PATH.findall(said)
    problems = [f"CONTRIBUTING.md:1: there is no {path}" for path in named
                if not os.path.exists(os.path.join(root, path))]
    with tempfile.TemporaryDirectory() as copy:
        for folder in ("base", "shared", "report", "handler", "include"):
            shutil.copytree(os.path.join(root, folder), os.path.join(copy, folder))
        for what in EDITS:
            problems += add_to(copy, what, said)
        problems = problems or compile_and_run(copy)
    source_tree.report("how_to_add", problems, len(named))


if __name__ == "__main__":
    main(sys.argv[1])
