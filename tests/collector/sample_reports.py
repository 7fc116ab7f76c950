#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Reports for the tests of the collector, built here so that each says what it is for.
#
# sample_reports.py FOLDER: writes the ones kept in tests/cases/report-pages.

import json
import os
import sys
import time

LIBC = 1
IMAGES = [
    ("ledgerd", "/opt/ledger/bin/ledgerd", "6f1dd07b9ce6a0d2f2b8c0b8f4c3a2e1d0c9b8a7",
     0x55D2C4A00000, 0x9C000, True),
    ("libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6",
     "f2d2d6c3f6a9aafb8f3e4dcb30ae29d7c7d6a6f2", 0x7F31A2600000, 0x186000, False),
    ("libledger.so.2", "/opt/ledger/lib/libledger.so.2",
     "0b7f2f0f1a9de4c4b4d1f70e3f6c2a5d8e9b1c3a", 0x7F31A2A00000, 0x44000, True),
    ("libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
     "9ed2dd52a1c0d4d8b9c1d7e6f5a4b3c2d1e0f9a8", 0x7F31A2200000, 0x1C9000, False),
    ("[vdso]", "[vdso]", "5a1c9e8d7b6f4a3e2d1c0b9a8f7e6d5c4b3a2f1e", 0x7FFE13BF2000,
     0x1000, False),
]


def image_json(image):
    name, path, build_id, base, size, has_sframe = image
    return {"name": name, "path": path, "build_id": build_id, "base": hex(base),
            "end_of_text": hex(base + size), "has_sframe": has_sframe}


def report_id(number):
    """A UUIDv7 of this second that is number's alone."""
    ms = int(time.time() * 1000)
    return (f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7{number & 0xFFF:03x}-8000-"
            f"{number:012x}")


def frame(function, place=None, image=0, offset=0x1000, **more):
    """One frame; place is `file:line:column`."""
    name, _, _, base, _, _ = IMAGES[image]
    out = {"kind": "ra", "address": hex(base + offset), "trust": "cfi", "image": image,
           "image_offset": hex(offset)}
    if function is not None:
        out["function"] = function
        out["function_offset"] = offset % 64
    if place is not None:
        file, line, column = place.rsplit(":", 2)
        out.update(file=file, line=int(line), column=int(column))
    out["inline"] = False
    out["system"] = name.startswith(("libc", "libstdc", "[vdso"))
    out.update(more)
    return out


def libc(function, offset, **more):
    return frame(function, None, LIBC, offset, **more)


def backtrace(frames, ended="end-of-stack"):
    if frames and frames[0]["kind"] == "ra":
        frames[0].update(kind="pc", trust="context")
    return {"cbf": "AA==", "ended": ended, "frames": frames}


START = [libc("start_thread", 0x89134), libc("__clone3", 0x1097DC)]
MAIN = [libc("__libc_start_call_main", 0x2724A), libc("__libc_start_main_impl", 0x27305),
        frame("_start", None, 0, 0x2310)]


def idle_thread(tid, name="worker"):
    frames = [libc("__futex_abstimed_wait_common64", 0x85F16),
              libc("___pthread_cond_wait", 0x88B40),
              frame("queue_take(ledger::queue&)", "src/queue.cpp:88:9", 0, 0x41C0),
              frame("worker_loop", "src/worker.cpp:31:18", 0, 0x4F00)] + START
    return {"tid": tid, "name": name, "state": "S", "crashed": False,
            "backtrace": backtrace(json.loads(json.dumps(frames)))}


REGISTERS = ("rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip "
             "eflags").split()


def registers():
    return {name: hex((0x7F31A2A0 << 16) + 0x1111 * i) for i, name in
            enumerate(REGISTERS)} | {"rax": "0x0"}


def report(number, crash, frames, others=(), **more):
    """A whole report; crash is signal, name, code_name, kind, address, summary."""
    signal, name, code_name, kind, address, summary = crash
    then = time.gmtime(time.time() - 60)
    now = time.strftime("%Y-%m-%dT%H:%M:%S", then) + ".123Z"
    crashed = {"tid": 41207, "name": "ingest-3", "state": "R", "crashed": True,
               "registers": registers(),
               "backtrace": backtrace(frames, more.pop("ended", "end-of-stack"))}
    out = {
        "schema": "crashhook.report/1", "id": report_id(number), "revision": 1,
        "time": now,
        "crash": {"signal": signal, "name": name, "code": 1, "code_name": code_name,
                  "thread": 41207, "kind": kind, "summary": summary},
        "process": {"pid": 41190, "ppid": 1, "executable": "/opt/ledger/bin/ledgerd",
                    "arguments": ["ledgerd", "--config", "/etc/ledger.conf", "--foreground"],
                    "uptime_ms": 5025000, "rss_bytes": 81264640, "uid": 998},
        "host": {"hostname": "ams-worker-07", "kernel": "6.1.0-28-amd64",
                 "os": "Debian GNU/Linux 12 (bookworm)", "arch": "x86_64", "cpus": 8},
        "release": "2.14.1", "environment": "production",
        "tags": {"region": "eu-west", "shard": "7"},
        "threads": [crashed, *others],
        "images": [image_json(image) for image in IMAGES],
        "fingerprint": f"{0x5EED0000 + number:032x}",
        "problems": [],
        "agent": {"version": "0.1.0", "tier": "ptrace",
                  "timings_us": {"attach": 310, "capture": 820, "unwind": 640,
                                 "write": 190, "symbolize": 84100}},
    }
    if address is not None:
        out["crash"]["address"] = address
    out.update(more)
    return out


def null_write(number=1, **more):
    frames = [
        frame("ledger::entry::set_amount(ledger::money)", "src/entry.h:57:12", 2, 0x9C41,
              inline=True),
        frame("ledger::journal::post(ledger::entry*, ledger::money)",
              "src/journal.cpp:214:24", 2, 0x9C41,
              arguments=[{"index": 0, "name": "this", "type": "ledger::journal *",
                          "value": "0x55d2c5e120a0", "confidence": "exact"},
                         {"index": 1, "name": "entry", "type": "ledger::entry *",
                          "value": None, "confidence": "exact"},
                         {"index": 2, "name": "amount", "type": "ledger::money",
                          "confidence": "unavailable",
                          "reason": "clobbered"}]),
        frame("ledger::journal::replay(std::span<ledger::entry const>)",
              "src/journal.cpp:301:9", 2, 0xA2F0),
        frame("void std::__invoke_impl<void, ledger::session::run()::{lambda()#1}>"
              "(std::__invoke_other, ledger::session::run()::{lambda()#1}&&)",
              "/usr/include/c++/12/bits/invoke.h:61:36", 2, 0xB7D1, system=True),
        frame("std::thread::_State_impl<std::thread::_Invoker<>>::_M_run()",
              "/usr/include/c++/12/bits/std_thread.h:210:11", 2, 0xB90C, system=True),
        frame("ledger::session::run()", "src/session.cpp:77:5", 0, 0x61A8),
        frame("worker_loop", "src/worker.cpp:44:14", 0, 0x4F62, trust="sframe"),
    ] + json.loads(json.dumps(START))
    crash = (11, "SIGSEGV", "SEGV_MAPERR", "null-dereference", "0x18",
             "Wrote to address 0x18: a member of a null pointer, in ledger::journal::post")
    others = [idle_thread(41208 + i, f"ingest-{i}") for i in range(20)]
    others.append({"tid": 41190, "name": "ledgerd", "state": "S", "crashed": False,
                   "backtrace": backtrace([libc("epoll_wait", 0x108D16),
                                           frame("main", "src/main.cpp:120:17", 0,
                                                 0x3A10)] + json.loads(json.dumps(MAIN)))})
    return report(number, crash, frames, others, **more)


def heap_abort(number=2, **more):
    frames = [libc("__pthread_kill_implementation", 0x8AE3C), libc("raise", 0x3BFB2),
              libc("abort", 0x26472), libc("__libc_message", 0x80439),
              libc("malloc_printerr", 0x947CA), libc("_int_free", 0x97B74),
              frame("string_pool_drop", "src/string_pool.c:93:5", 2, 0x1F20),
              frame("cache_evict", "src/cache.c:410:13", 2, 0x2A88),
              frame("cache_insert", "src/cache.c:266:9", 2, 0x2C14),
              frame("handle_request", "src/server.c:158:12", 0, 0x5530),
              frame("worker_loop", "src/worker.cpp:44:14", 0, 0x4F62)] + START
    crash = (6, "SIGABRT", "SI_TKILL", "heap-corruption", None,
             "The heap was found damaged while freeing memory, in string_pool_drop")
    out = report(number, crash, json.loads(json.dumps(frames)),
                 [idle_thread(5000 + i) for i in range(7)], **more)
    out["crash"]["message"] = "free(): invalid next size (fast)"
    out["breadcrumbs"] = [
        {"time": "2026-11-21T09:12:01.004Z", "message": "request 88121 accepted"},
        {"time": "2026-11-21T09:12:01.019Z", "message": "cache full, evicting 32 entries"}]
    return out


def overflow(number=3, **more):
    frames = [frame("parse_value", "src/json.c:71:1", 0, 0x7000 + i) for i in range(24)]
    frames += [{"kind": "omit", "count": 41872}]
    frames += [frame("parse_value", "src/json.c:71:1", 0, 0x7010),
               frame("parse_document", "src/json.c:140:10", 0, 0x7300),
               frame("main", "src/main.cpp:64:9", 0, 0x3A90)]
    crash = (11, "SIGSEGV", "SEGV_ACCERR", "stack-overflow", "0x7ffe12bf4ff8",
             "The stack of this thread is full: parse_value calls itself 41,896 times")
    return report(number, crash, frames + json.loads(json.dumps(MAIN)), ended="limit",
                  problems=[{"stage": "unwind", "status": "limit",
                             "address": "0x55d2c4a07010"}], **more)


def uncaught(number=4, **more):
    frames = [libc("__pthread_kill_implementation", 0x8AE3C), libc("raise", 0x3BFB2),
              libc("abort", 0x26472),
              frame("__gnu_cxx::__verbose_terminate_handler()", None, 3, 0x9C7E6),
              frame("__cxxabiv1::__terminate(void (*)())", None, 3, 0xA7D2A),
              frame("std::terminate()", None, 3, 0xA7D95),
              frame("__cxa_throw", None, 3, 0xA7FE8),
              frame("config::load(std::filesystem::path const&)", "src/config.cpp:38:15",
                    0, 0x6AA0),
              frame("main", "src/main.cpp:29:20", 0, 0x3990)]
    crash = (6, "SIGABRT", "SI_TKILL", "uncaught-exception", None,
             "A std::runtime_error was thrown in config::load and nobody caught it")
    out = report(number, crash, json.loads(json.dumps(frames + MAIN)), **more)
    out["crash"]["message"] = ("terminate called after throwing an instance of "
                               "'std::runtime_error'\n  what():  cannot read "
                               "/etc/ledger.conf: no such file")
    return out


def raw(number=5, **more):
    """As the agent leaves it: no names yet, and an unwind that got stuck."""
    frames = [frame(None, None, 0, 0x61A8), frame(None, None, 2, 0xA2F0, trust="fp"),
              frame(None, None, 2, 0xB7D1, trust="scan")]
    crash = (11, "SIGSEGV", "SEGV_MAPERR", "unknown", "0x7f31b0000010",
             "Read address 0x7f31b0000010, which is not mapped")
    return report(number, crash, frames, ended="no-rule", revision=0, **more)


def recorded(number=9, **more):
    """With a flight record, watched values, and memory at registers."""
    out = null_write(number, **more)
    events, ns, calls = [], -4_200_000, ["main", "ledger::journal::replay",
                                         "ledger::journal::post(ledger::entry*)"]
    for depth, name in enumerate(calls[:2]):
        events.append({"action": "enter", "function": name, "t_ns": ns, "depth": depth})
        ns += 90_000
    for i in range(40):
        for action in ("enter", "exit"):
            events.append({"action": action, "function": f"ledger::parse_line_{i % 3}",
                           "address": hex(0x55D2C4A01000 + i), "t_ns": ns, "depth": 2})
            ns += 20_000 + 4_000 * (i % 7)
    events.append({"action": "enter-args", "function": calls[2], "t_ns": -3_100,
                   "depth": 2, "arguments": ["0x0"]})
    tid = out["threads"][0]["tid"]
    out["flight"] = {"threads": [
        {"tid": tid, "source": "finstrument", "dropped": 3, "events": events,
         "open_calls": calls},
        {"tid": tid + 1, "source": "finstrument", "events": [
            {"action": "enter", "address": "0x55d2c4a01234", "t_ns": -900_000, "depth": 0},
            {"action": "exit", "address": "0x55d2c4a01234", "t_ns": -20_000,
             "depth": 0}], "open_calls": []}]}
    out["watches"] = [
        {"name": "ledger::current", "type": "struct ledger::state *", "size": 48,
         "address": "0x55d2c4a9a0c0", "source": "dwarf",
         "value": {"entries": 1204, "last": {"id": 77, "amount": "12.50"}, "head": None}},
        {"name": "retries", "type": "int", "size": 4, "address": "0x55d2c4a9a100"}]
    out["memory"] = [{"register": "rsp", "address": "0x7ffe12bf5000",
                      "bytes": b"ledger/2026-11.journal\0\x01\xff".hex() + "00" * 40},
                     {"register": "rdi", "address": "0x18", "bytes": "00ff"}]
    out["crash"]["pointers"] = [
        {"register": "rdi", "address": "0x55d2c4a9a0d0", "to": "freed",
         "block": "0x55d2c4a9a0c0", "block_bytes": 40, "permissions": "rw-"}]
    out["crash"]["disassembly"] = [{
        "frame": 0, "function": "ledger::parse_line", "file": "ledger.c",
        "instructions": [
            {"address": "0x55d2c4a01230", "text": "mov rax, qword ptr [rdi + 0x18]",
             "line": 77, "current": True}]}]
    return out


MARKUP = ("<script>document.title='owned'</script><img src=x onerror=\"document.title="
          "'owned'\"><a href=\"javascript:document.title='owned'\">\" onmouseover='x' &amp;"
          "\u202egnp.exe\u2066\u200b\u0007\u001b[31m\r\n]]>--><style>*{display:none}</style>")


def poison(value):
    """value with markup in every string that no schema fixes."""
    if isinstance(value, dict):
        return {key: item if key in FIXED else poison(item) for key, item in
                value.items()}
    if isinstance(value, list):
        return [poison(item) for item in value]
    return MARKUP if isinstance(value, str) else value


FIXED = {"schema", "id", "time", "kind", "trust", "ended", "cbf", "address", "base",
         "end_of_text", "image_offset", "build_id", "tier", "state", "registers",
         "fingerprint", "confidence", "action", "bytes"}


def hostile(number=6, **more):
    out = poison(heap_abort(number))
    out["crash"]["name"] = "SIGABRT"
    out["crash"]["kind"] = "heap-corruption"
    out["tags"] = {MARKUP: MARKUP, "k": "v"}
    for key in ("flight", "watches", "memory"):
        out[key] = poison(recorded()[key])
    for key in ("pointers", "disassembly"):
        out["crash"][key] = poison(recorded()["crash"][key])
    out["threads"].append({**out["threads"][1], "tid": 77,
                           "backtrace": out["threads"][0]["backtrace"]})
    out.update(more)
    return out


def many_threads(number=7, count=5000, distinct=True):
    """count threads; with distinct, no two have the same stack."""
    out = null_write(number)
    for i in range(count):
        thread = idle_thread(100000 + i)
        if distinct:
            thread["backtrace"]["frames"][2]["function"] = f"queue_take_{i}"
        out["threads"].append(thread)
    return out


def long_strings(number=8, size=10_000_000):
    out = null_write(number)
    out["crash"]["message"] = "m" * size
    out["threads"][0]["backtrace"]["frames"][0]["function"] = "f<" * (size // 40)
    return out


def main():
    kept = {"null_write": null_write, "heap_abort": heap_abort, "overflow": overflow,
            "uncaught": uncaught, "raw": raw, "hostile": hostile}
    for name, make in kept.items():
        path = os.path.join(sys.argv[1], name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(make(), file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
