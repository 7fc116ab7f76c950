# SPDX-License-Identifier: Apache-2.0
#
# Programs whose debug files are sent to a collector, and reports of crashes in them that
# have no names: for tests of what names a collector adds.

import os
import subprocess

import sample_reports

BASE = 0x555500000000


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    return notes.split("Build ID:")[1].split()[0]


def compile_program(folder, name, source):
    """A program with its debug information; its source is folder/name.c."""
    path, program = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "-o", program, path], check=True)
    return program


def build(folder, name, source, *sections):
    """A program's debug file, its build ID, and where its functions begin; the program
    and its source go. Sections are options of objcopy."""
    program = compile_program(folder, name, source)
    debug = program + ".debug"
    subprocess.run(["objcopy", *sections, "--only-keep-debug", program, debug], check=True)
    symbols = subprocess.run(["nm", program], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    found = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines()
             if len(line.split()) == 3}
    build_id = build_id_of(program)
    os.unlink(program)
    os.unlink(program + ".c")
    return debug, build_id, found


def nameless(number, name, build_id, offsets):
    """Report number: a crash in that program at these offsets, without any name."""
    report = sample_reports.raw(number)
    report["images"][0] = {"name": name, "path": "/nowhere/" + name, "build_id": build_id,
                           "base": hex(BASE), "end_of_text": hex(BASE + 0x10000),
                           "has_sframe": False}
    thread = [thread for thread in report["threads"] if thread.get("crashed")][0]
    thread["backtrace"]["frames"] = [
        {"kind": "ra" if i else "pc", "address": hex(BASE + offset), "trust": "cfi",
         "image": 0, "image_offset": hex(offset)} for i, offset in enumerate(offsets)]
    report.pop("fingerprint", None)
    return report
