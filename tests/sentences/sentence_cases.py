# SPDX-License-Identifier: Apache-2.0
#
# The cases of this folder: sources whose functions crash, each after a comment that holds
# what the report has to say of it.
#
#     // case null_member
#     //   kind: null-dereference
#     //   says: Write to 0x18, through a null pointer
#     //   access: write 8 0x18
#     static void null_member(struct item *item) { item->next = item; }
#
# A program gets the name of its case as its argument. The keys:
#
#   signal    the signal that ends the program; SEGV unless said
#   kind      crash.kind; several are separated by |
#   says      a regular expression that matches the beginning of the summary
#   true      the same for a sentence that is true and does not help: it counts as unhelpful
#   access    operation, size and address of crash.access; * is any, none: there is no access
#   variable  crash.variable.expression, a regular expression
#   cause     crash.provenance.kind, or none; without this key there must be none
#   shows     what `crashhook show` prints, as regular expressions separated by ;;
#   never     the same for what it must not print
#   in        a function on the crashed thread's stack; the case's name unless said, - none
#   live, core  further text that `says` is replaced by, in one of the two
#   builds    words that a build's name has to have, all of them (gcc, clang, O0, O2); -WORD:
#             must not have
#   ways      live, core or trace, separated by |, if it is not all of them
#   run       variables of the environment, as K=V
#
# A value goes on in lines that are indented further, after one blank. A file begins with
# the same keys' defaults in lines of `// all KEY: VALUE`, where `flags`
# are the compiler's.

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from place import rust_compiler

FOLDER = os.path.dirname(os.path.realpath(__file__))
KEYS = {"signal", "kind", "says", "true", "access", "variable", "cause", "in", "live", "core",
        "builds", "ways", "run", "flags", "shows", "never"}

# How each language is built: name of the build, command before the source.
BUILDS = {
    ".c": [(f"{cc} {level}", [cc, f"-{level}", "-g", "-pthread", "-w"])
           for cc in ("gcc", "clang") for level in ("O0", "O2")],
    ".cc": [(f"{cc} {level}", [cc, f"-{level}", "-g", "-pthread", "-w"])
            for cc in ("g++", "clang++") for level in ("O0", "O2")],
    ".rs": [(f"rustc {level}", [rust_compiler(), "-g", "-A", "warnings", "-C",
                                f"opt-level={level[1]}"])
            for level in ("O0", "O2")],
    ".go": [("go O0", ["go", "build", "-gcflags=all=-N -l"]), ("go O2", ["go", "build"])],
}


class Case:
    def __init__(self, source, name, keys):
        self.source = source
        self.name = name
        self.keys = keys

    def get(self, key, default=None):
        return self.keys.get(key, default)

    def is_for(self, build, way):
        words = self.get("builds", "").split()
        fits = all(word[1:] not in build if word[0] == "-" else word in build for word in words)
        return fits and way in self.get("ways", way).split("|")


def read_cases(path):
    """The cases of one source, in their order."""
    defaults, cases, current, key = {}, [], None, None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            begun = re.match(r"// case (\w+)$", line)
            said = re.match(r"//   (\w+): (.+)$", line)
            more = re.match(r"//     +(.+)$", line)
            common = re.match(r"// all (\w+): (.+)$", line)
            found = said or common
            if found and found[1] not in KEYS:
                raise ValueError(f"{path}:{number}: no key is called {found[1]}")
            if begun:
                current = Case(path, begun[1], dict(defaults))
                cases.append(current)
            elif common:
                key = common[1]
                defaults[key] = common[2]
            elif more and key and not current:
                defaults[key] += more[1]
            elif said and current:
                key = said[1]
                current.keys[key] = said[2]
            elif more and current:
                current.keys[key] += " " + more[1]
            elif not line.startswith("//"):
                current = None
    return cases


def all_cases(folder=FOLDER, suffixes=tuple(BUILDS)):
    sources = sorted(name for name in os.listdir(folder)
                     if os.path.splitext(name)[1] in suffixes)
    return [case for name in sources for case in read_cases(os.path.join(folder, name))]


def compile_case(source, build, command, folder):
    """The command that builds the program of a source in folder, and its path."""
    keys = {}
    with open(source, encoding="utf-8") as file:
        for line in file:
            common = re.match(r"// all flags: (.+)$", line)
            if common:
                keys["flags"] = common[1].split()
    name = os.path.splitext(os.path.basename(source))[0]
    program = os.path.join(folder, f"{name}-{build.replace(' ', '-')}")
    return [*command, *keys.get("flags", []), "-o", program, source], program
