# SPDX-License-Identifier: Apache-2.0
#
# The recipes of CONTRIBUTING.md whose effect is seen in the command or on a page, for
# how_to_add.py: a report key, an upload target, a version of SFrame, a compression of debug
# information, a version of Python. What each changes is compiled from a copy and linked in
# place of the object that a built tree has of it.

import ctypes
import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time

EDITS = {
    "A report key": {
        "agent/live/capture.h": [(r"(    bool narrow; )", r"    const char *ward;\n\1")],
        "agent/live/capture.c": [(r"(    capture->arch = unwind_arch_native\(\);\n)",
                                  r'\1    capture->ward = "east";\n')],
        "agent/raw/raw_report.c": [(r'(    raw_write_words\(w, capture, "release")',
                                    r'    raw_write_string(w, "ward", capture->ward);\n\1')],
        "docs/report.schema.json": [(r'(    "release": \{ "type": "string" \},\n)',
                                     r'\1    "ward": { "type": "string" },\n')],
        "docs/reference/report-format.md": [(r"\Z", "\n`ward` is the ward.\n")],
        "report/file/report_shape.c": [(r'(    \{ "release", REPORT_SHAPE_STRING, false \},\n)',
                                        r'\1    { "ward", REPORT_SHAPE_STRING, false },\n')],
        "cli/render/render.c": [(r'(    render_field\(&render->pen, "Report", )',
                                 r'    render_field(&render->pen, "Ward", '
                                 r'report_string(render->report, "ward"));\n\1')],
        "collector/pages/page_report.c": [
            (r'(    write_report_fact\(out, "System")',
             r'    write_report_fact(out, "Ward", report_string(report, "ward"));\n\1')],
    },
    "An upload target": {
        "upload/target.h": [(r"(    TARGET_KINDS,\n)", r"    TARGET_KIND_WARD,\n\1")],
        "upload/protocol.c": [
            (r'(#include "upload/sentry.h"\n)', r'\1#include "upload/ward.h"\n'),
            (r"(\[TARGET_KINDS\] = \{\n)",
             r'\1    [TARGET_KIND_WARD] = { .prefix = "ward+", .name = "ward", '
             r'.words = "why",\n'
             r"                           .send = ward_send, .ask = ward_ask },\n")],
        "docs/how-to/sentry.md": [(r"\Z", "\n`ward+https://HOST` is a ward.\n")],
    },
    "An unwind format's version": {
        "docs/formats/sframe.md": [(r"versions 1, 2 and 3", r"versions 1 to 4")],
        "formats/debug/sframe.c": [
            (r"(FUNCTION_SIZE_3) \};", r"\1, FUNCTION_SIZE_3 };"),
            (r"section->version > 3", r"section->version > 4")],
    },
    "A compression of debug information": {
        "formats/debug/decompress.h": [(r"(DECOMPRESS_ZSTD = 2)", r"\1, DECOMPRESS_STORED = 3")],
        "formats/debug/decompress.c": [
            (r"(#include <libdeflate.h>\n)", r"\1#include <string.h>\n"),
            (r"(    if \(method != DECOMPRESS_ZSTD\)\n)",
             r"    if (method == DECOMPRESS_STORED) {\n"
             r"        if (from_size != size)\n"
             r"            return CH_ERR_MALFORMED;\n"
             r"        memcpy(out, from, size);\n"
             r"        return CH_OK;\n"
             r"    }\n\1")],
        "symbolizer/files/decompressed_debug.c": [
            (r"(compressed\.ch_type != DECOMPRESS_ZSTD)",
             r"\1 && compressed.ch_type != DECOMPRESS_STORED"),
            (r"(\bheader\.ch_type != DECOMPRESS_ZSTD)",
             r"\1 && header.ch_type != DECOMPRESS_STORED")],
        "docs/reference/frames.md": [(r"\Z", "\nSections may be stored.\n")],
    },
    "A runtime's version": {
        "languages/python.c": [
            (r"(static const struct offset_table offset_tables\[\] = \{\n)",
             r"\1    { 0x030f,\n"
             r"      { 5,  8,  9,  24, 26, 27, 32, 33, 34, 36, 40,\n"
             r"        42, 43, 44, 48, 51, 75, 76, 57, 78, 79, 80 },\n"
             r"      112,\n"
             r"      120 },\n")],
        "languages/python.h": [(r"3\.8 to 3\.14", "3.8 to 3.15")],
        "docs/reference/languages.md": [(r"\Z", "\nPython 3.15 is read, too.\n")],
    },
}

# The file of the new target.
TARGET = {
    "upload/ward.h": """#pragma once
#include "upload/shipment.h"
#include "upload/target.h"
void ward_ask(const struct target *target, const struct shipment *shipment,
              struct shipment_question *out);
void ward_send(const struct target *target, const struct shipment *shipment,
               struct verdict *out);
""",
    "upload/ward.c": """#include "upload/ward.h"
void ward_ask(const struct target *target, const struct shipment *shipment,
              struct shipment_question *out)
{
    (void)shipment;
    text_appendf(&out->url, "%s/ward", target->url);
    text_append_string(&out->body, "?");
    out->content_type = "text/plain";
}
void ward_send(const struct target *target, const struct shipment *shipment,
               struct verdict *out)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    struct http_request request = { .content_type = "text/plain",
                                    .body = json_string_value(
                                        json_object_get(shipment->report, "ward")),
                                    .size = 4,
                                    .timeout_ms = shipment->timeout_ms };
    verdict_begin(out);
    text_appendf(&url, "%s/ward", target->url);
    request.url = url.bytes;
    if (http_send(&request, &reply) != CH_OK)
        verdict_down(out, "%s", reply.error);
    else if (reply.status == 200)
        out->state = TARGET_SENT;
    else
        verdict_refused(&reply, "the report", NULL, out);
}
""",
}

# What two test programs of the tree are linked with gives this one its functions.
PROGRAM = """
#include <string.h>
#include "formats/debug/decompress.h"
#include "languages/python.h"
static size_t read_words(void *source, uint64_t address, void *to, size_t size)
{
    memcpy(to, (const char *)source + address, size);
    return size;
}
int main(void)
{
    static uint64_t words[512];
    struct python_layout layout;
    uint8_t out[4] = { 0 };
    const struct memory_reader reader = { .read = read_words, .source = words };
    memcpy(words, "xdebugpy", 8);
    words[1] = 0x030f00f0;
    return decompress(3, cursor_over("ward", 4), out, 4) == CH_OK &&
           memcmp(out, "ward", 4) == 0 &&
           python_layout_read(&reader, 0, &layout) == CH_OK &&
           layout.version == 0x030f ? 0 : 1;
}
"""


def commands_of(build, target):
    """How Ninja compiles each object of a target, and how it links them."""
    lines = subprocess.run(["ninja", "-t", "commands", target], cwd=build, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    compiled = {}
    for line in lines:
        words = shlex.split(line)
        if "-c" in words and "-o" in words:
            compiled[words[words.index("-o") + 1]] = words
    return compiled, shlex.split(lines[-1].removeprefix(": && ").removesuffix(" && :"))


def dependencies(build):
    """The files that each object was compiled from."""
    found, current = {}, None
    for line in subprocess.run(["ninja", "-t", "deps"], cwd=build, check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines():
        if line and not line.startswith(" "):
            current = found.setdefault(line.split(":")[0], set())
        elif line:
            current.add(os.path.normpath(os.path.join(build, line.strip())))
    return found


class Rebuild:
    """Programs of a built tree, with what was changed in a copy."""

    def __init__(self, root, build, copy, changed):
        self.root, self.build, self.copy = root, build, copy
        self.changed = {os.path.join(root, path) for path in changed}
        self.needs = dependencies(build)
        self.done = {}

    def compile(self, words, source, name):
        made = os.path.join(self.copy, name)
        words = words[:words.index("-MD")]  # and what follows is of the tree's object
        # The linter's speed counts, and warnings are those of the tree.
        words = [words[0], f"-I{self.copy}", *words[1:], "-O0", "-g0", "-U_FORTIFY_SOURCE",
                 "-Wextra", "-Werror", "-o", made, "-c", source]
        subprocess.run(words, cwd=self.build, check=True)
        return made

    def link(self, target, added=(), dropped=()):
        """Links target, with the objects of added sources, and without dropped ones."""
        compiled, link = commands_of(self.build, target)
        objects = {}
        for path, words in compiled.items():
            if not self.needs.get(path, set()) & self.changed or path in dropped:
                continue
            source = words[words.index("-c") + 1]
            changed = self.copy + source[len(self.root):]
            if path not in self.done:
                self.done[path] = self.compile(
                    words, changed if os.path.exists(changed) else source,
                    f"{len(self.done)}.o")
            objects[path] = self.done[path]
        anyhow = next(iter(compiled.values()))
        new = [self.compile(compiled.get(like, anyhow), source, os.path.basename(source) + ".o")
               for source, like in added]
        program = os.path.join(self.copy, os.path.basename(target))
        words = [objects.pop(word, word) for word in link if word not in dropped]
        words[words.index("-o") + 1] = program
        # Before the archives: what they have of the same names is then left out.
        subprocess.run([words[0], *new, *objects.values(), *words[1:]], cwd=self.build,
                       check=True)
        return program


class Taking(http.server.BaseHTTPRequestHandler):
    taken = []

    def do_POST(self):
        Taking.taken.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *unused):
        pass


def attached(command, *options):
    """What the command prints of a process that lives."""
    may_be_traced = ctypes.CDLL(None).prctl
    child = subprocess.Popen(["sleep", "60"],
                             preexec_fn=lambda: may_be_traced(0x59616d61, ctypes.c_ulong(-1)))
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with open(f"/proc/{child.pid}/comm", encoding="utf-8") as file:
                if file.read() == "sleep\n":
                    break
        return subprocess.run([command, "attach", *options, str(child.pid)], check=True,
                              text=True, stdout=subprocess.PIPE).stdout
    finally:
        child.kill()
        child.wait()


def key_problems(command):
    report = json.loads(attached(command, "--json"))
    if report.get("ward") != "east":
        yield "CONTRIBUTING.md:1: the report key is not in a report"
    if not re.search(r"Ward +east", attached(command)):
        yield "CONTRIBUTING.md:1: the report key is not printed"


def target_problems(command, copy):
    report = json.loads(attached(command, "--json"))
    spool = os.path.join(copy, "spool")
    os.mkdir(spool, 0o700)
    with open(os.path.join(spool, report["id"] + ".json"), "w", encoding="utf-8") as file:
        json.dump(report, file)
    server = http.server.HTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = dict(os.environ, CRASHHOOK_SPOOL=spool,
                       CRASHHOOK_URL=f"ward+http://127.0.0.1:{server.server_port}")
    subprocess.run([command, "upload"], env=environment, check=False,
                   stderr=subprocess.DEVNULL)
    server.shutdown()
    server.server_close()
    if Taking.taken != [("/ward", b"east")]:
        yield f"CONTRIBUTING.md:1: the upload target received {Taking.taken}"


def version_problems(command, root, copy):
    with open(os.path.join(root, "fuzz/corpus/sframe/x86_64-v3-pub_asm"), "rb") as file:
        section = bytearray(file.read())
    section = section[section.index(b"\xe2\xde"):]
    section[2] = 4
    path = os.path.join(copy, "version.s")
    with open(path, "w", encoding="utf-8") as file:
        file.write('.section .sframe, "a"\n.byte ' + ", ".join(map(str, section)) + "\n")
    subprocess.run(["cc", "-c", path, "-o", path + ".o"], check=True)
    said = subprocess.run([command, "sframe", "dump", path + ".o"], check=False, text=True,
                          stdout=subprocess.PIPE).stdout
    if not said.startswith("SFrame version 4, "):
        yield f"CONTRIBUTING.md:1: of the new SFrame version is printed '{said[:60]}'"


def page_problems(root, program):
    sys.path.insert(0, os.path.join(root, "tests", "collector"))
    from running import Collector
    from write_old_store import crash
    with Collector(program) as collector:
        report = dict(crash(1, ["shop::pay", "main"]), ward="east")
        answer = collector.post(json.dumps(report).encode())[1]
        page = collector.request("GET", "/reports/" + report["id"])[2].decode()
        if "Ward" not in page or "east" not in page:
            yield f"CONTRIBUTING.md:1: the report key is not on the page of {answer}"


def problems(root, build, copy):
    """Problems with what the changes that were made in the copy do."""
    for path, text in TARGET.items():
        os.makedirs(os.path.join(copy, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(copy, path), "w", encoding="utf-8") as file:
            file.write(text)
    rebuild = Rebuild(root, build, copy, {path for edits in EDITS.values() for path in edits})
    target = [(os.path.join(copy, "upload/ward.c"), "upload/CMakeFiles/ch_upload.dir/sentry.c.o")]
    command = rebuild.link("bin/crashhook", added=target)
    yield from key_problems(command)
    yield from target_problems(command, copy)
    yield from version_problems(command, root, copy)
    yield from page_problems(root, rebuild.link("bin/crashhook-collector", target))
    with open(os.path.join(copy, "program.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    replaced = "tests/languages/CMakeFiles/test_languages_python.dir/test_python.c.o"
    program = rebuild.link("tests/test_languages_python", dropped=[replaced],
                           added=[(os.path.join(copy, "program.c"), replaced)])
    if subprocess.run([program], check=False).returncode != 0:
        yield "CONTRIBUTING.md:1: the compression or the runtime's version is not known"
