# SPDX-License-Identifier: Apache-2.0
#
# check_fixtures CRASHHOOK: programs are compiled here in the forms debug information
# comes in, and taken apart as packages do; their names must stay the same, or be
# missing for the reason that is said. Each check is a function whose name says what.

import base64
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import compare_names
from harness import (COMPILERS, build_id_of, build_shapes, code_of, is_refused, run, sections,
                     symbol_address, tell)

CRASHHOOK = os.path.abspath(sys.argv[1])
SEED = 23


def addresses_of(path):
    """Every third address of the program's code, while it still has its symbols."""
    start, size = code_of(path)
    return "".join(f"{a:#x}\n" for a in range(start, start + size, 3))


def names(path, text, *options):
    return json.loads(run(CRASHHOOK, "symbolize", "--no-cache", "--exe", path, "--json",
                          *options, "-",
                          text=text))


COLD = """
#include <stdexcept>
extern "C" [[gnu::cold]] void complain(int);
static int hidden_calls;
[[gnu::noipa]] static int hidden(int i)
{
    if (i > 5) { hidden_calls++; complain(i); complain(1); }
    return i + 1;
}
int checked(int i)
{
    int more = hidden(i);
    if (more > 7) { complain(i); complain(more); throw std::runtime_error("much"); }
    return more;
}
extern "C" int first(int i)
{
    int more = hidden(i);
    if (i < 0) { complain(more); complain(-i); complain(more * i); }
    return more * 2;
}
int caught(int i)
{
    try { return checked(i); } catch (std::exception &) { complain(i); return 7; }
}
"""


SCOPES = """
namespace shop {
namespace {
int stock[4];
struct clerk {
    void greet() { stock[0]++; }
    union paper {
        [[gnu::always_inline]] static int read_price(int i) { return stock[i & 3] / i; }
    };
};
[[gnu::always_inline]] inline int count_items(int i)
{
    struct counter {
        [[gnu::always_inline]] static int step(int i) { return stock[i & 1]++; }
    };
    return counter::step(i);
}
}
}
int main(int argc, char **)
{
    return shop::clerk::paper::read_price(argc) + shop::count_items(argc);
}
"""


def take_apart(path, debug):
    """path loses its debug information to the file debug."""
    run("objcopy", "--only-keep-debug", path, debug)
    run("strip", path)


def frame_at(path, address):
    """The outermost frame that a report has for one address of the program."""
    base = 0x550000000000
    report = {"threads": [{"backtrace": {"frames": [{"kind": "pc",
                                                     "address": hex(base + address)}]}}],
              "images": [{"path": path, "base": hex(base),
                          "end_of_text": hex(base + (1 << 20))}]}
    named = json.loads(run(CRASHHOOK, "symbolize", "--no-cache", "-",
                           text=json.dumps(report)))
    return named["threads"][0]["backtrace"]["frames"][-1]


def with_lines(answers):
    return sum(1 for a in answers if a["frames"] and "line" in a["frames"][0])


def names_agree_with_other_tools(folder):
    for index, compilers in enumerate(COMPILERS):
        for flags in (("-gdwarf-4",), ("-gdwarf-5",), ("-gdwarf-5", "-gz"),
                      ("-gdwarf-4", "-O0"), ("-gdwarf-5", "-O0")):
            inside = os.path.join(folder, f"{index}{'_'.join(flags)}")
            os.mkdir(inside)
            print(compilers[0], *flags)
            path = build_shapes(inside, compilers, ("-g", "-O2") + flags)
            start, size = code_of(path)
            assert compare_names.compare(CRASHHOOK, path, 1500, SEED) == 0
            lines = with_lines(names(path, addresses_of(path)))
            assert lines > size / 3 * 0.7, (lines, size / 3)


def functions_of_one_file_are_named_with_the_scopes_they_are_in(folder):
    path = os.path.join(folder, "scopes")
    for flags in ("-gdwarf-4",), ("-gdwarf-5", "-gz"):
        run("g++", "-O1", *flags, "-x", "c++", "-o", path, "-", text=SCOPES)
        found = {frame["function"] for answer in names(path, addresses_of(path))
                 for frame in answer["frames"] if frame.get("inlined")}
        inside = "shop::(anonymous namespace)::"
        assert found == {inside + "clerk::paper::read_price", inside + "count_items",
                         "step"}, found


def units_are_found_with_address_ranges_listed_and_without(folder):
    path = build_shapes(folder, compilers=("clang", "g++"))
    listed = run("readelf", "--debug-dump=aranges", path).count("Offset into .debug_info")
    assert listed == 1, "g++ lists ranges and clang does not"
    for name in ("plain_sum", "main"):
        frame = names(path, f"{symbol_address(path, name):#x}\n")[0]["frames"][-1]
        assert frame["function"] == name and "line" in frame, frame


def split_debug_information_says_what_the_whole_says(folder):
    for index, compilers in enumerate(COMPILERS):
        for version in ("-gdwarf-4", "-gdwarf-5"):
            answers = []
            for form in ((), ("-gsplit-dwarf",)):
                inside = os.path.join(folder, f"{index}{version}{len(form)}")
                os.mkdir(inside)
                path = build_shapes(inside, compilers, ("-g", "-O2", version) + form)
                answers.append(names(path, addresses_of(path)))
            same = sum(a == b for a, b in zip(*answers))
            print(f"{compilers[0]} {version}: {same} of {len(answers[0])} equal")
            assert answers[0] == answers[1], next(
                (a, b) for a, b in zip(*answers) if a != b)
            os.remove(os.path.join(inside, "shapes.cc.dwo"))
            assert len(names(path, "0x2000\n")) == 1


def a_frame_whose_split_file_is_missing_says_so(folder):
    path = build_shapes(folder, flags=("-g", "-O2", "-gdwarf-4", "-gsplit-dwarf"))
    static = symbol_address(path, "_ZL9histogram")
    run("objcopy", "--strip-all", "--keep-section=.debug_*", path)
    assert frame_at(path, static)["function"].startswith("histogram")
    # binutils of Debian 13 has none.
    run("dwp" if shutil.which("dwp") else "llvm-dwp", "-e", "shapes", "-o", "shapes.dwp",
        cwd=folder)
    os.remove(os.path.join(folder, "shapes.cc.dwo"))
    frame = frame_at(path, static)
    # From elfutils 0.191 on, packages are read.
    assert frame.get("function", "").startswith("histogram") or \
        frame["symbol_status"] == "split-package", frame
    assert frame["file"].endswith("shapes.cc"), "the program itself has lines"
    os.remove(path + ".dwp")
    assert frame_at(path, static)["symbol_status"] == "no-split-file"


def a_nameless_frame_says_what_is_missing(folder):
    path = build_shapes(folder)
    static = symbol_address(path, "_ZL9histogram")
    run("objcopy", "--strip-symbol=_fini", path)
    fini = next(address for name, address, _, _ in sections(path) if name == ".fini")
    assert frame_at(path, static)["function"].startswith("histogram")
    assert frame_at(path, fini)["symbol_status"] == "not-covered"
    debug = os.path.join(folder, "shapes.debug")
    take_apart(path, debug)
    assert frame_at(path, static)["symbol_status"] == "stripped"
    run("objcopy", f"--add-gnu-debuglink={debug}", path)
    assert frame_at(path, static)["function"].startswith("histogram")
    os.remove(debug)
    assert frame_at(path, static)["symbol_status"] == "no-debug-file"


STUBS = """
#include <stdlib.h>
#ifdef __cplusplus
static int *number(void) { return new int(3); }
#else
static int *number(void) { return (int *)malloc(4); }
#endif
int main(int count, char **words) { return (int)strtol(words[count - 1], 0, 10) + *number(); }
"""


def stubs_of_the_plt_have_the_names_that_objdump_gives_them(folder):
    source, path = os.path.join(folder, "calls.cc"), os.path.join(folder, "calls")
    with open(source, "w", encoding="utf-8") as file:
        file.write(STUBS)
    ibt = ("-fcf-protection=full", "-Wl,-z,ibtplt")
    forms = [("", "g++", *more) for more in ((), ("-Wl,-z,now",), ibt, (*ibt, "-Wl,-z,now"))]
    forms += [("", compiler, "-fuse-ld=lld") for compiler in ("clang++", "clang++-19")]
    forms += [("aarch64-linux-gnu-", "aarch64-linux-gnu-gcc", *more, "-x", "c") for more in
              ((), ("-mbranch-protection=standard", "-Wl,-z,force-bti"))]
    tried = 0
    for prefix, *command in forms:
        if shutil.which(command[0]) is None or subprocess.run(
                [*command, source, "-o", path], check=False, capture_output=True).returncode:
            print(f"not here: {' '.join(command)}")
            continue
        run(prefix + "strip", path)
        listing = run(prefix + "objdump", "-d", path)
        found = re.findall(r"^0*([0-9a-f]+) <(\w+)@plt>:$", listing, re.M)
        if re.search(r"@plt>:\n.*\t(br|ldr)\t", listing):
            # Of AArch64 with BTI some objdumps count 16 bytes for a stub, which has 24.
            print(f"objdump cuts stubs: {' '.join(command)}")
            continue
        # Since C23 glibc's headers call it by another name.
        assert any(name in ("strtol", "__isoc23_strtol") for _, name in found), (command, found)
        for address, name in found:
            for offset in (0, 4):
                frame = frame_at(path, int(address, 16) + offset)
                function = frame["function"]
                assert frame.get("raw_name", function) == name + "@plt", (command, name, frame)
                wanted = run("c++filt", name).strip()
                assert function == wanted + "@plt", (command, name, frame)
        tried += 1
    assert tried >= 3


def a_debug_link_is_followed_beside_the_file_and_in_dot_debug(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    whole = names(path, text)
    debug = os.path.join(folder, "shapes.debug")
    take_apart(path, debug)
    run("objcopy", f"--add-gnu-debuglink={debug}", path)
    assert names(path, text) == whole
    os.mkdir(os.path.join(folder, ".debug"))
    shutil.move(debug, os.path.join(folder, ".debug"))
    assert names(path, text) == whole


def a_debug_link_without_build_ids_is_checked_by_its_checksum(folder):
    path = build_shapes(folder, link=("-Wl,--build-id=none",))
    text = addresses_of(path)
    whole = names(path, text)
    debug = os.path.join(folder, "shapes.debug")
    take_apart(path, debug)
    run("objcopy", f"--add-gnu-debuglink={debug}", path)
    assert names(path, text) == whole
    with open(debug, "ab") as file:
        file.write(b"\0")
    assert with_lines(names(path, text)) == 0


def debug_dirs_are_searched_by_build_id_and_by_name(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    whole = names(path, text)
    build_id = build_id_of(path)
    by_id = os.path.join(folder, "store", ".build-id", build_id[:2])
    os.makedirs(by_id)
    debug = os.path.join(by_id, build_id[2:] + ".debug")
    take_apart(path, debug)
    assert with_lines(names(path, text)) == 0
    assert names(path, text, "--debug-dir", os.path.join(folder, "store")) == whole
    by_name = os.path.join(folder, "flat")
    os.mkdir(by_name)
    shutil.move(debug, os.path.join(by_name, "shapes.debug"))
    assert names(path, text, "--debug-dir", "/nonexistent", "--debug-dir", by_name) == whole


def a_debug_file_of_another_build_is_refused(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    debug = os.path.join(folder, "shapes.debug")
    take_apart(path, debug)
    run("objcopy", f"--add-gnu-debuglink={debug}", path)
    other = os.path.join(folder, "other")
    os.mkdir(other)
    take_apart(build_shapes(other, flags=("-g", "-O1")), debug)
    assert with_lines(names(path, text)) == 0


def a_stripped_program_keeps_the_names_it_exports(folder):
    path = build_shapes(folder)
    inside = symbol_address(path, "plain_sum")
    run("strip", path)
    answer = names(path, f"{inside + 2:#x}\n")[0]["frames"]
    assert answer == [{"function": "plain_sum", "raw_name": "plain_sum",
                       "inlined": False}], answer


def parts_that_are_seldom_run_keep_their_function_s_name(folder):
    path = os.path.join(folder, "cold.so")
    run("g++", "-O2", "-fPIC", "-shared", "-x", "c++", "-o", path, "-", text=COLD)
    rows = [line.split() for line in run("nm", "-S", path).split("\n")]
    cold = {row[3]: int(row[0], 16) for row in rows if len(row) == 4
            and row[3].endswith(".cold")}
    text = "".join(f"{at + 1:#x}\n" for at in cold.values())
    whole = names(path, text)
    run("strip", path)
    found = {}
    for part, before, after in zip(cold, whole, names(path, text)):
        assert before["frames"][0]["raw_name"] == part, before
        assert after["frames"] in ([], before["frames"]), (before, after)
        found[part] = after["frames"] != []
    print(found)
    # What only the unwinder enters, and what has no name by itself, stay without one.
    assert found["_Z7checkedi.cold"] and found["first.cold"], found
    assert not found["_ZL6hiddeni.cold"], found


def minidebuginfo_names_what_strip_took(folder):
    path = build_shapes(folder)
    inside = symbol_address(path, "_ZL9histogram")
    mini = os.path.join(folder, "mini")
    kept = os.path.join(folder, "kept")
    with open(kept, "w", encoding="utf-8") as file:
        file.write("\n".join(l.split()[-1] for l in run("nm", path).split("\n")
                             if " t " in l or " T " in l))
    run("objcopy", "--only-keep-debug", path, mini)
    run("objcopy", "-S", "--remove-section=.comment", f"--keep-symbols={kept}", mini)
    run("xz", "-9", mini)
    run("strip", path)
    assert names(path, f"{inside:#x}\n")[0]["frames"] == []
    run("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", path)
    answer = names(path, f"{inside:#x}\n")[0]["frames"]
    assert answer[0]["function"].startswith("histogram("), answer


def debug_information_shared_by_dwz_is_followed(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    whole = names(path, text)
    second = os.path.join(folder, "second")
    shutil.copy(path, second)
    run("dwz", "-m", os.path.join(folder, "shared.dwz"), "-M",
        os.path.join(folder, "shared.dwz"), path, second)
    assert names(path, text) == whole
    os.remove(os.path.join(folder, "shared.dwz"))
    assert len(names(path, text)) == len(whole)


def a_report_is_named_on_a_machine_that_has_only_debug_files(folder):
    path = build_shapes(folder)
    address = symbol_address(path, "plain_sum")
    build_id = build_id_of(path)
    store = os.path.join(folder, "store")
    os.mkdir(store)
    take_apart(path, os.path.join(store, "shapes.debug"))
    # version 0 of 64-bit words, pc (absolute), end
    value = (0x550000000000 + address).to_bytes(8, "big")
    cbf = base64.b64encode(bytes([2, 0x1f]) + value + bytes([0])).decode()
    images = [{"path": "/gone/shapes", "build_id": build_id, "base": "0x550000000000",
               "end_of_text": "0x550000100000"}]
    image_map = run(CRASHHOOK, "images", "encode", text=json.dumps(
        {"version": 0, "word_size": 64, "platform": "Linux", "images": images})).strip()
    os.remove(path)
    named = []
    for part in ({"images": images},
                 {"image_map": base64.b64encode(bytes.fromhex(image_map)).decode()}):
        report = {"threads": [{"backtrace": {"cbf": cbf}}], **part}
        for options, wanted in (((), None), (("--debug-dir", store), "plain_sum")):
            answer = json.loads(run(CRASHHOOK, "symbolize", "--no-cache", "-", *options,
                                    text=json.dumps(report)))
            frame = answer["threads"][0]["backtrace"]["frames"][-1]
            assert frame.get("function") == wanted, frame
            assert (frame.get("symbol_status") == "no-image-file") == (wanted is None)
            assert {**images[0], "name": "shapes"} == {"name": "shapes",
                                                       **answer["images"][0]}, answer
        named.append(answer)
    assert named[0]["threads"] == named[1]["threads"], named
    named = named[1]
    output = os.path.join(folder, "out.json")
    assert run(CRASHHOOK, "symbolize", "--no-cache", "-", "--debug-dir", store, "-o", output,
               text=json.dumps(report)) == ""
    with open(output, encoding="utf-8") as file:
        assert json.load(file) == named


def a_debuginfod_server_is_asked_when_its_url_is_given(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    whole = names(path, text)
    build_id = build_id_of(path)
    served = os.path.join(folder, "served", "buildid", build_id)
    os.makedirs(served)
    take_apart(path, os.path.join(served, "debuginfo"))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                                directory=os.path.join(folder, "served"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    os.environ["DEBUGINFOD_CACHE_PATH"] = os.path.join(folder, "cache")
    try:
        os.environ["DEBUGINFOD_URLS"] = url
        assert with_lines(names(path, text)) == 0, "asked without --debuginfod"
        del os.environ["DEBUGINFOD_URLS"]
        assert names(path, text, "--debuginfod", url) == whole
    finally:
        server.shutdown()


def bomb(size):
    """Zeros as a server sends them compressed."""
    packer, out = zlib.compressobj(1, zlib.DEFLATED, 31), b""
    for _ in range(size >> 20):
        out += packer.compress(b"\0" * (1 << 20))
    return out + packer.flush()


def a_debuginfod_server_that_sends_too_much_leaves_nothing(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    take_apart(path, os.path.join(folder, "debug"))
    cache = os.path.join(folder, "cache")
    packed = bomb(1100 << 20)

    class Liar(http.server.BaseHTTPRequestHandler):
        way, sent = None, 0

        def do_GET(self):
            self.send_response(200)
            if Liar.way == "compressed":
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            try:
                while True:
                    piece = {"compressed": packed, "other": b"no ELF file",
                             "endless": b"\0" * (1 << 20)}[Liar.way]
                    self.wfile.write(piece)
                    Liar.sent += len(piece)
                    if Liar.way != "endless":
                        return
            except OSError:
                pass

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["DEBUGINFOD_CACHE_PATH"] = cache
    try:
        for way in ("other", "compressed", "endless"):
            Liar.way = way
            os.makedirs(cache + "/aa", exist_ok=True)
            for name, age in (("debuginfo.AbCdEf", 700), ("debuginfo.GhIjKl", 0)):
                open(f"{cache}/aa/{name}", "wb").close()
                os.utime(f"{cache}/aa/{name}", (time.time() - age,) * 2)
            assert with_lines(names(path, text, "--debuginfod",
                                    f"http://127.0.0.1:{server.server_port}")) == 0, way
            # An empty `debuginfo` is how the client remembers that there is none.
            left = [name for folder, _, names_there in os.walk(cache) for name in names_there
                    if name.startswith("debuginfo") and
                    (name != "debuginfo" or os.path.getsize(os.path.join(folder, name)) != 0)]
            # That of a download that may be under way stays.
            assert left == ["debuginfo.GhIjKl"], (way, left)
            shutil.rmtree(cache)
        assert Liar.sent < 1200 << 20, Liar.sent
    finally:
        server.shutdown()
        del os.environ["DEBUGINFOD_CACHE_PATH"]


def a_file_that_is_no_program_is_refused_in_one_line(folder):
    for content in (b"", b"hello", b"\x7fELF", b"\x7fELF\x02\x01\x01" + b"\0" * 57):
        path = os.path.join(folder, "odd")
        with open(path, "wb") as file:
            file.write(content)
        done = subprocess.run([CRASHHOOK, "symbolize", "--no-cache", "--exe", path, "0x10"],
                              capture_output=True, text=True, check=False)
        assert is_refused(done), done
    for path in ("/dev/null", folder, "/nonexistent"):
        done = subprocess.run([CRASHHOOK, "symbolize", "--no-cache", "--exe", path, "0x10"],
                              capture_output=True, text=True, check=False)
        assert is_refused(done), done


def the_text_form_is_that_of_addr2line_with_columns(folder):
    path = build_shapes(folder, flags=("-gdwarf-5", "-O0"))
    inside = f"{symbol_address(path, 'plain_sum'):#x}"
    theirs = run("addr2line", "-fiC", "-e", path, inside, "0").split("\n")
    ours = run(CRASHHOOK, "symbolize", "--no-cache", "--exe", path, inside, "0x0").split("\n")
    assert ours[0] == theirs[0] == "plain_sum", ours
    assert ours[1].rpartition(":")[0] == theirs[1], (ours, theirs)
    assert ours[2:4] == ["??", "??:0:0"], ours
    spaced = run(CRASHHOOK, "symbolize", "--no-cache", "--exe", path, "-",
                 text=f"\n {inside}\t\r\n0x0")
    assert spaced.split("\n") == ours, spaced
    done = subprocess.run([CRASHHOOK, "symbolize", "--exe", path, "-"], input="0" * 64,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "is not an address" in done.stderr, done


def compressed(path, method):
    """A copy of path whose debug information is compressed."""
    packed = f"{path}.{method}"
    run("objcopy", f"--compress-debug-sections={method}", path, packed)
    return packed


def debug_information_that_zstd_compressed_is_read(folder):
    for version in ("-gdwarf-4", "-gdwarf-5"):
        inside = os.path.join(folder, version)
        os.mkdir(inside)
        path = build_shapes(inside, flags=("-g", "-O2", version))
        packed = compressed(path, "zstd")
        text = addresses_of(path)
        expected = names(path, text)
        assert names(packed, text) == expected
        assert cached_names(packed, text, os.path.join(inside, "cache"))[0] == expected
        dumped = [run(CRASHHOOK, "types", "dump", "--json", each) for each in (path, packed)]
        assert json.loads(dumped[0])["types"] and dumped[0] == dumped[1]


def debug_information_compressed_by_an_unknown_method_is_said_to_be(folder):
    path = compressed(build_shapes(folder), "zstd")
    _, _, offset, _ = next(s for s in sections(path) if s[0] == ".debug_info")
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(b"\x09")
    (main,) = names(path, f"{symbol_address(path, 'main'):#x}\n")
    assert main["frames"][0]["function"] == "main" and "line" not in main["frames"][0], main
    frame = frame_at(path, 0)
    assert frame["symbol_status"] == "unknown-compression", frame


LARGE_BYTES = 70 << 20


def large_shapes(folder):
    """The fixtures with more debug information than is decompressed in memory, which is
    all zeros: no range of the program is there."""
    source = os.path.join(folder, "large.s")
    with open(source, "w", encoding="ascii") as out:
        out.write(f'.section .debug_ranges,"",@progbits\n.zero {LARGE_BYTES}\n')
    run("gcc", "-c", source, "-o", os.path.join(folder, "large.o"))
    return build_shapes(folder, link=("-Wl,--compress-debug-sections=zlib", "large.o"))


def measured_names(path, text, *options, **variables):
    """The names, and the most memory in MB that finding them took."""
    child = subprocess.Popen([CRASHHOOK, "symbolize", *options, "--exe", path, "--json", "-"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, **variables})
    child.stdin.write(text)
    child.stdin.close()
    answer = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    assert status == 0, status
    return json.loads(answer), used.ru_maxrss / 1024


def cached_names(path, text, cache):
    return measured_names(path, text, XDG_CACHE_HOME=cache)


def large_compressed_information_is_in_a_file_without_a_name_where_no_cache_is(folder):
    path = large_shapes(folder)
    text = addresses_of(path)
    temporary = os.path.join(folder, "temporary")
    os.mkdir(temporary)
    calls = os.path.join(folder, "calls")
    # A traced process cannot be looked at by AddressSanitizer's search for leaks.
    found = json.loads(run("strace", "-f", "-e", "trace=openat", "-o", calls, "env",
                           f"TMPDIR={temporary}", "ASAN_OPTIONS=detect_leaks=0", CRASHHOOK, "symbolize", "--no-cache", "--exe",
                           path, "--json", "-", text=text))
    with open(calls, encoding="utf-8") as file:
        assert f'"{temporary}", O_RDWR' in file.read()
    assert os.listdir(temporary) == [], os.listdir(temporary)
    # Where no file can be made it is all in memory.
    again, more = measured_names(path, text, "--no-cache", TMPDIR="/proc")
    assert found == again
    assert more > LARGE_BYTES / (1 << 20), more


def large_compressed_information_is_decompressed_into_the_cache_once(folder):
    path = large_shapes(folder)
    text = addresses_of(path)
    cache = os.path.join(folder, "cache")
    kept = os.path.join(cache, "crashhook", "symbols", build_id_of(path) + "-plain")
    expected = names(path, text)
    found, _ = cached_names(path, text, cache)
    assert found == expected
    assert os.path.getsize(kept) > LARGE_BYTES, os.path.getsize(kept)
    before = os.stat(kept)
    again, peak = cached_names(path, text, cache)
    assert again == expected
    assert peak < LARGE_BYTES / (1 << 20), peak
    assert os.stat(kept).st_ino == before.st_ino


def large_compressed_information_that_is_damaged_names_what_it_did(folder):
    path = large_shapes(folder)
    text = addresses_of(path)
    _, _, offset, size = next(s for s in sections(path) if s[0] == ".debug_ranges")
    for what, at, written in (("its size", offset + 8, (1 << 50).to_bytes(8, "little")),
                              ("its size, by one", offset + 8,
                               (LARGE_BYTES + 1).to_bytes(8, "little")),
                              ("its method", offset, b"\x07"),
                              ("its bytes", offset + size // 2, b"\xff\x00\xff\x00")):
        damaged = os.path.join(folder, "damaged")
        shutil.copy(path, damaged)
        with open(damaged, "r+b") as file:
            file.seek(at)
            file.write(written)
        cache = os.path.join(folder, "cache-" + what)
        found, _ = cached_names(damaged, text, cache)
        assert found == names(damaged, text), what
        kept = os.listdir(os.path.join(cache, "crashhook", "symbols")) \
            if os.path.isdir(cache) else []
        assert not [name for name in kept if name.endswith("-plain")], (what, kept)


def an_index_made_ahead_names_what_is_stripped_later(folder):
    path = build_shapes(folder, link=("-Wl,--compress-debug-sections=zlib",))
    text = addresses_of(path)
    expected = names(path, text)
    symbols = os.path.join(folder, "crashhook", "symbols")
    for said in "indexed", "it is indexed already":
        told = run(CRASHHOOK, "symbols", "index", "--cache", symbols, path)
        assert told == f"{path}: {said}\n", told
    build = build_id_of(path)
    kept = sorted(os.listdir(symbols))
    packages = [name for name in kept if name.endswith("-packages")]
    assert len(packages) == os.path.isdir("/var/lib/dpkg/info"), kept
    for name in packages:
        assert os.stat(os.path.join(symbols, name)).st_mode & 0o777 == 0o644, name
    assert [name for name in kept if name not in packages] == [build, build + "-plain"], kept
    run("strip", path)
    found, _ = cached_names(path, text, folder)
    assert found == expected


def an_index_of_what_nobody_else_may_read_is_for_nobody_else(folder):
    path = build_shapes(folder)
    os.chmod(path, 0o700)
    symbols = os.path.join(folder, "crashhook", "symbols")
    run(CRASHHOOK, "symbols", "index", "--cache", symbols, path)
    for kept in (symbols, *(os.path.join(symbols, name) for name in os.listdir(symbols))):
        assert os.stat(kept).st_mode & 0o077 == 0, kept


def an_index_is_made_of_a_separate_debug_file(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    expected = names(path, text)
    os.mkdir(os.path.join(folder, "debug"))
    take_apart(path, os.path.join(folder, "debug", "shapes.debug"))
    symbols = os.path.join(folder, "crashhook", "symbols")
    run(CRASHHOOK, "symbols", "index", "--debug-dir", os.path.join(folder, "debug"),
        "--cache", symbols, path)
    found, _ = cached_names(path, text, folder)
    assert found == expected


def what_cannot_be_indexed_is_said_and_keeps_nothing_else_from_it(folder):
    path = build_shapes(folder)
    bare = os.path.join(folder, "bare")
    shutil.copy(path, bare)
    run("strip", bare)
    symbols = os.path.join(folder, "symbols")
    done = subprocess.run([CRASHHOOK, "symbols", "index", "--cache", symbols, bare,
                           __file__, folder, path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and done.stdout == f"{path}: indexed\n", done
    assert done.stderr.count("\n") == 3, done.stderr
    for why in ("no debug information of it was found", "it is no ELF file with a build ID",
                "it is no plain file"):
        assert why in done.stderr, done.stderr


def the_index_that_root_made_of_what_is_installed_is_for_everybody(folder):
    path = build_shapes(folder)
    text = addresses_of(path)
    expected = names(path, text)
    source = os.path.join(folder, "addresses")
    with open(source, "w", encoding="ascii") as out:
        out.write(text)
    # A folder for caches of nobody else's is mounted where root's is.
    script = (f"mount -t tmpfs none /var/cache && {CRASHHOOK} symbols index --cache "
              f"/var/cache/crashhook/symbols {path} >&2 && strip {path} && {CRASHHOOK} "
              f"symbolize --exe {path} --json - <{source}")
    if os.geteuid() != 0 or subprocess.run(
            ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/var/cache"],
            capture_output=True, check=False).returncode != 0:
        print("skipped: nothing may be mounted here")
        return
    told = run("unshare", "--mount", "sh", "-c", script,
               env={**os.environ, "XDG_CACHE_HOME": os.path.join(folder, "own")})
    assert json.loads(told) == expected


CHECKS = [
    names_agree_with_other_tools,
    functions_of_one_file_are_named_with_the_scopes_they_are_in,
    units_are_found_with_address_ranges_listed_and_without,
    split_debug_information_says_what_the_whole_says,
    a_frame_whose_split_file_is_missing_says_so,
    a_nameless_frame_says_what_is_missing,
    stubs_of_the_plt_have_the_names_that_objdump_gives_them,
    a_debug_link_is_followed_beside_the_file_and_in_dot_debug,
    a_debug_link_without_build_ids_is_checked_by_its_checksum,
    debug_dirs_are_searched_by_build_id_and_by_name,
    a_debug_file_of_another_build_is_refused,
    a_stripped_program_keeps_the_names_it_exports,
    minidebuginfo_names_what_strip_took,
    debug_information_shared_by_dwz_is_followed,
    a_report_is_named_on_a_machine_that_has_only_debug_files,
    a_debuginfod_server_is_asked_when_its_url_is_given,
    a_debuginfod_server_that_sends_too_much_leaves_nothing,
    a_file_that_is_no_program_is_refused_in_one_line,
    the_text_form_is_that_of_addr2line_with_columns,
    debug_information_that_zstd_compressed_is_read,
    debug_information_compressed_by_an_unknown_method_is_said_to_be,
    large_compressed_information_is_in_a_file_without_a_name_where_no_cache_is,
    large_compressed_information_is_decompressed_into_the_cache_once,
    large_compressed_information_that_is_damaged_names_what_it_did,
    an_index_made_ahead_names_what_is_stripped_later,
    an_index_of_what_nobody_else_may_read_is_for_nobody_else,
    an_index_is_made_of_a_separate_debug_file,
    what_cannot_be_indexed_is_said_and_keeps_nothing_else_from_it,
    the_index_that_root_made_of_what_is_installed_is_for_everybody,
]


def in_folder(check):
    # A background process may be writing a cache into it.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        check(folder)


if __name__ == "__main__":
    tell((check.__name__, functools.partial(in_folder, check)) for check in CHECKS
         if not sys.argv[2:] or check.__name__ in sys.argv[2:])
