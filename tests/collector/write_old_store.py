#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# write_old_store.py COLLECTOR FOLDER: fills a store through the API of an older COLLECTOR
# and writes it to FOLDER/sqlite.sql and FOLDER/postgresql.sql; test_upgrade.py opens them
# with the one that was built. FOLDER/expected.json says what people did to which group.

import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import time

import postgres
import sample_reports
from running import Collector

REPLAY = "ledger::journal::replay(std::span<ledger::entry const>)"


def crash(number, functions, program="ledgerd", kind="null-dereference", message=None,
          release="1.0", host="ams-1", address="0x18"):
    """A report of functions of the program, innermost first, as the older version sent
    it: with its flags, and without keys of the version after."""
    signal = (6, "SIGABRT", "SI_TKILL") if kind == "assertion" else (11, "SIGSEGV",
                                                                     "SEGV_MAPERR")
    frames = [sample_reports.frame(function, f"src/{i}.cpp:{10 + i}:1", 0, 0x1000 + 64 * i)
              for i, function in enumerate(functions)]
    if kind == "assertion":
        frames[:0] = [sample_reports.libc("abort", 0x26472),
                      sample_reports.libc("__assert_fail", 0x26395)]
    report = sample_reports.report(
        number, (*signal, kind, None if kind == "assertion" else address, "It crashed"),
        frames + json.loads(json.dumps(sample_reports.MAIN)), release=release)
    report["images"] = [dict(report["images"][0], name=program,
                             path=f"/opt/ledger/bin/{program}"), report["images"][1]]
    report["process"] = {"pid": 1, "executable": f"/opt/ledger/bin/{program}"}
    report["host"] = {"hostname": host, "os": "Debian", "arch": "x86_64"}
    report["tags"] = {"region": host[:3]}
    report["crash"].update({"message": message} if message else {})
    report["time"] = f"2026-11-01T10:00:{number:02d}.000Z"
    thread = report["threads"][0]
    thread.pop("registers")
    for key in ("problems", "agent", "fingerprint"):
        report.pop(key)
    return report


def send(collector, report, chosen=None):
    if chosen:
        report["fingerprint"] = chosen
    status, answer = collector.post(gzip.compress(json.dumps(report).encode(), mtime=0),
                                    {"Content-Encoding": "gzip"})
    assert status == 201, answer
    return answer["group"]


def decide(collector, group, **what):
    status, answer = collector.json("POST", f"/api/v1/groups/{group}", json.dumps(what))
    assert status == 200, answer
    time.sleep(0.01)  # which decision is the later one has to be known


def fill(collector):
    """What is in the store: the group that each bug had, by a word for the bug."""
    groups = {}
    # A bug in a program whose file's name changed with its version: it was two groups.
    groups["one"] = send(collector, crash(1, ["ledger::post", "main"], "ledgerd-1.0"))
    groups["one-renamed"] = send(collector, crash(2, ["ledger::post", "main"],
                                                  "ledgerd-1.1", release="1.1"))
    decide(collector, groups["one"], status="ignored", note="only in tests")
    decide(collector, groups["one-renamed"], status="resolved", note="mended in 1.1",
           assignee="kim")
    # Two assertions in one function were one group.
    for number, message in ((3, "token != nullptr"), (4, "size <= 16")):
        groups["several"] = send(collector, crash(
            number, ["gw::authorize", "main"], kind="assertion",
            message=f"auth.cc:40: authorize: Assertion `{message}' failed."))
    decide(collector, groups["several"], status="ignored", note="a fuzzer", assignee="lee")
    # One bug called by two functions, which people had merged.
    groups["merged"] = send(collector, crash(5, ["cache_evict", "cache_insert", "main"]))
    groups["merged-into"] = send(collector, crash(6, ["cache_drop", "cache_clear", "main"]))
    decide(collector, groups["merged-into"], note="both of the cache")
    decide(collector, groups["merged"], merge_into=groups["merged-into"])
    send(collector, crash(7, ["cache_evict", "cache_insert", "main"], host="fra-2"))
    # Two groups that were merged by mistake and split again.
    groups["split"] = send(collector, crash(8, ["parse_value", "main"]))
    groups["split-from"] = send(collector, crash(9, ["read_config", "main"]))
    decide(collector, groups["split"], merge_into=groups["split-from"])
    decide(collector, groups["split-from"], split=groups["split"], note="is apart")
    # A group whose reports retention thins out, as a sender with its own key names it.
    for number in range(10, 15):
        groups["thinned"] = send(collector, crash(number, ["worker_loop", "main"],
                                                  host=f"ams-{number}"))
    decide(collector, groups["thinned"], status="resolved", release="1.0")
    groups["chosen"] = send(collector, crash(15, ["billing", "main"]), "b111b111")
    decide(collector, groups["chosen"], note="a key of our own")
    return groups


def wait_until_thinned(collector, group):
    give_up = time.monotonic() + 90
    while time.monotonic() < give_up:
        if collector.json("GET", f"/api/v1/groups/{group}")[1]["kept"] == 2:
            return
        time.sleep(0.1)
    raise AssertionError("retention removed nothing")


def figures(collector):
    """What the old collector says of its groups."""
    answer = collector.json("GET", "/api/v1/groups?limit=100")[1]
    return {group["id"]: {key: group.get(key) for key in
                          ("count", "kept", "status", "note", "assignee", "first_seen",
                           "last_seen", "title")}
            for group in (collector.json("GET", f"/api/v1/groups/{listed['id']}")[1]
                          for listed in answer["groups"])}


def filled(binary, store, expected):
    with Collector(binary, store=store, extra=["--keep-per-group", "2"]) as collector:
        groups = fill(collector)
        # Retention looks once a minute.
        wait_until_thinned(collector, groups["thinned"])
        expected.update(groups=groups, figures=figures(collector))
        collector.stop()
        collector.process = None


def sql_value(value):
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def dump_sqlite(path):
    """The file as statements: its index of words is made anew from what it indexes."""
    database = sqlite3.connect(path)
    made = database.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT"
                            " NULL ORDER BY rowid").fetchall()
    virtual = [name for _, name, sql in made if sql.startswith("CREATE VIRTUAL")]
    made = [row for row in made if not any(row[1].startswith(name + "_")
                                           for name in virtual)]
    for kind, _, sql in made:
        if kind == "table":
            yield sql + ";"
    for kind, name, _ in made:
        if kind == "table" and name not in virtual:
            for row in database.execute(f"SELECT * FROM {name}"):
                yield f"INSERT INTO {name} VALUES({', '.join(map(sql_value, row))});"
    for name in virtual:
        yield f"INSERT INTO {name}({name}) VALUES('rebuild');"
    for kind, _, sql in made:
        if kind != "table":
            yield sql + ";"
    yield f"PRAGMA user_version = {database.execute('PRAGMA user_version').fetchone()[0]};"


def main(binary, folder):
    os.makedirs(folder, exist_ok=True)
    expected = {}
    with Collector(binary) as place:  # for its folder
        path = place.path("old.db")
        filled(binary, "sqlite:" + path, expected)
        with open(folder + "/sqlite.sql", "w", encoding="utf-8") as out:
            out.write("\n".join(dump_sqlite(path)) + "\n")
    with open(folder + "/expected.json", "w", encoding="utf-8") as out:
        json.dump(expected, out, indent=1, sort_keys=True)
        out.write("\n")
    with postgres.Postgres() as server:
        address = server.database()
        filled(binary, address, {})
        dump = subprocess.run([server.programs + "/pg_dump", "--inserts", "--no-owner",
                               "--no-privileges", "--no-comments", address], check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        dump = re.sub(r"(?m)^(--.*|\\.*|\s*)\n", "", dump)
        with open(folder + "/postgresql.sql", "w", encoding="utf-8") as out:
            out.write(dump)


if __name__ == "__main__":
    main(*sys.argv[1:])
