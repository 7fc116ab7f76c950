#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# planted_fleet.py COUNT FOLDER: writes FOLDER/reports.ndjson and FOLDER/plan.json.
#
# Eight weeks of 5 programs on 40 hosts with 70 bugs, and a plan of what a team must be
# told about them. Each program numbers its releases in its own way, and is in a folder
# for each release. Hosts are upgraded one after the other, in four days. In one program
# the newest release is five days old and used twice as much as the one before; another
# has a release on one host alone (a canary). The plan is made from the reports, by this
# program's own rules.

import collections
import json
import os
import sys
import time

import sample_reports

DAY = 86400
DAYS = 56
BEGUN = 90  # days ago: before the first report
FULL_COUNT = 6500
HOSTS = [f"node-{number:02}" for number in range(40)]
BAD_HOST, BUSY_HOST, CANARY_HOST = HOSTS[13], HOSTS[7], HOSTS[39]
UPGRADE_DAYS = 4
USERS_OF_HOST = 3
BUGS_OF_EACH = 14
BUGS = 5 * BUGS_OF_EACH

# The releases of each program, the oldest first, with the day (ago) on which the first
# host got it, and which of them is its current one.
PROGRAMS = {
    "shopd": ([("4.1.0", BEGUN), ("4.2.0", 45), ("4.3.0", 30), ("4.10.0", 5)], "4.10.0"),
    "gatewayd": ([("26.7", BEGUN), ("26.8", 40), ("26.9", 20), ("27.0-rc.1", 2)], "26.9"),
    "mailer": ([("9f31c0de", BEGUN), ("1b77aa02", 35), ("c4e5d610", 12)], "c4e5d610"),
    "imgtool": ([("apple", BEGUN), ("birch", 50), ("aspen", 25)], "aspen"),
    "ledgerd": ([("1.8", BEGUN), ("1.9", 33), ("1.10", 10)], "1.10"),
}
NAMES = list(PROGRAMS)
CANARY = "27.0-rc.1"
WEEK = ("shopd", 5)  # twice as much from that day on

# Bugs by program and their number in it.
NEW = {("shopd", 0), ("shopd", 1), ("shopd", 2), ("gatewayd", 0), ("gatewayd", 1),
       ("mailer", 0), ("mailer", 1), ("imgtool", 0), ("ledgerd", 0), ("ledgerd", 1)}
OF_CANARY = ("gatewayd", 1)
BACK = {("shopd", 3): "4.2.0", ("ledgerd", 3): "1.9"}
OLD_ONLY = ("mailer", 3)  # resolved, and crashes on in releases that it had before
FIXED = ("shopd", 8)
RISING = {("gatewayd", 4), ("imgtool", 4)}
EVERYWHERE = ("shopd", 5)
ONE_KERNEL, KERNEL = ("gatewayd", 6), "6.12.3-odd"
TAKEN = ("mailer", 7)
BUSY = ("ledgerd", 4)  # often, on one host that crashes in nothing else
BAD_MEMORY = {(program, number) for program in ("imgtool", "ledgerd")
              for number in range(9, BUGS_OF_EACH)}
KINDS = ("null-dereference", "use-after-unmap", "abort", "assertion", "heap-corruption")


def fingerprint_of(bug):
    return f"{NAMES.index(bug[0]) + 10:x}{bug[1]:02x}ee700" * 4


def function_of(bug):
    return f"{bug[0]}_step_{bug[1]}"


def introduced_in(bug):
    """The release, by its number, that brought a bug."""
    releases, current = PROGRAMS[bug[0]]
    if bug == OF_CANARY:
        return len(releases) - 1
    if bug in NEW:
        return [name for name, _ in releases].index(current)
    return 1 if bug[1] in (10, 11) and bug not in BAD_MEMORY else 0


def release_on(program, host, ago):
    """The number of the release that a host had then."""
    found = 0
    for number, (name, since) in enumerate(PROGRAMS[program][0]):
        late = UPGRADE_DAYS * HOSTS.index(host) / len(HOSTS)
        if since == BEGUN or name == CANARY:
            late = 0
        if ago <= since - late and (name != CANARY or host == CANARY_HOST):
            found = number
    return found


def user_on(host, number):
    """A person works on two hosts; a program on the busy one runs for nobody in particular."""
    if host == BUSY_HOST:
        return None
    return f"{HOSTS.index(host) // 2 * USERS_OF_HOST + number % USERS_OF_HOST}@example.org"


class Fleet:
    """The reports in the order of their time; count is about how many there are."""

    def __init__(self, count=FULL_COUNT):
        self.now = int(time.time())
        weights = {bug: 1 / (1 + (3 * index) % 23) for index, bug in enumerate(self.bugs())}
        scale = count / sum(weights.values())
        for _ in range(4):  # what is planted in fixed numbers is not scaled
            self.reports = []
            self.decisions = []  # (days ago, bug, what)
            for bug, weight in weights.items():
                self.plant(bug, max(6, int(weight * scale)))
            scale *= count / len(self.reports)
        self.reports.sort(key=lambda report: report["time"])
        for number, report in enumerate(self.reports):
            report["id"] = sample_reports.report_id(number + 1)

    @staticmethod
    def bugs():
        return [(program, number) for program in NAMES for number in range(BUGS_OF_EACH)]

    def plant(self, bug, count):
        hosts = [host for host in HOSTS[bug[1] % 5::2] if host not in (BAD_HOST, BUSY_HOST)]
        if bug in BAD_MEMORY:
            self.spread(bug, 3, 50, 1, [BAD_HOST])
        elif bug == OF_CANARY:
            self.spread(bug, 3, 1.9, 0.1, [CANARY_HOST])
        elif bug == BUSY:
            self.spread(bug, 30, DAYS, 0.1, [BUSY_HOST])
        elif bug in NEW:
            since = PROGRAMS[bug[0]][0][introduced_in(bug)][1]
            self.spread(bug, max(12, count // 4), since - 0.5, 0.05, HOSTS[:10:2])
        elif bug in BACK:
            self.spread(bug, 8, 40, 34, hosts)
            self.decisions.append((33, bug, {"status": "resolved", "release": BACK[bug]}))
            self.spread(bug, 4, 0.9, 0.1, HOSTS[:6])
        elif bug == OLD_ONLY:
            self.spread(bug, 12, 50, 30, hosts)
            self.decisions.append((29.5, bug, {"status": "resolved"}))
            self.spread(bug, 3, 29, 13, hosts)
        elif bug == FIXED:
            self.spread(bug, 10, 50, 12, hosts)
            self.decisions.append((11, bug, {"status": "resolved", "release": "4.10.0"}))
        elif bug in RISING:
            self.spread(bug, 6, 50, 15, hosts)
            self.spread(bug, 4, 14, 7.1, hosts)
            self.spread(bug, 40, 6.9, 0.1, hosts)
        elif bug == EVERYWHERE:
            self.spread(bug, max(120, count), DAYS, 0.1, HOSTS)
        else:
            self.spread(bug, count, DAYS, 0.1, hosts)
            if bug == TAKEN:
                self.decisions.append((3, bug, {"assignee": "kim",
                                                "note": "waits for the new driver"}))

    def spread(self, bug, count, begin, end, hosts):
        """Reports in equal distances, from one day ago to another."""
        for i in range(count):
            ago = begin - (begin - end) * (i + 0.5) / count
            self.add(bug, ago, hosts[i % len(hosts)])
            if bug[0] == WEEK[0] and ago < WEEK[1] and bug not in NEW | set(BACK):
                self.add(bug, ago - 0.01, hosts[i % len(hosts)])

    def add(self, bug, ago, host):
        program, number = bug
        release = release_on(program, host, ago)
        if release < introduced_in(bug):
            return
        name = PROGRAMS[program][0][release][0]
        frames = [sample_reports.frame(function_of(bug), f"src/{program}.c:{40 + number}:9",
                                       0, 0x4000 + 64 * number),
                  sample_reports.frame(f"{program}_loop", f"src/{program}.c:300:5", 0, 0x9000)]
        report = sample_reports.report(
            0, (11, "SIGSEGV", "SEGV_MAPERR", KINDS[number % len(KINDS)],
                hex(0x10 + number), f"{function_of(bug)} read where nothing is mapped"),
            frames + sample_reports.START, release=name)
        report["threads"][0]["registers"] = {"rip": "0x55d2c4a04000"}
        report["fingerprint"] = fingerprint_of(bug)
        report["host"].update(hostname=host, kernel=KERNEL if bug == ONE_KERNEL else
                              f"6.1.0-{20 + HOSTS.index(host) % 3}-amd64")
        report["process"]["executable"] = f"/opt/{program}-{name}/bin/{program}"
        report["images"] = report["images"][:2]
        report["tags"] = {"user": user_on(host, len(self.reports))}
        stamp = self.now - int(ago * DAY)
        report["time"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stamp))
        self.reports.append(report)

    def events(self):
        """Reports, and decisions between them: (bug, what), in the order of time."""
        decisions = sorted(self.decisions, key=lambda decision: -decision[0])
        for report in self.reports:
            while decisions and report["time"] > time.strftime(
                    "%Y-%m-%dT%H:%M:%S", time.gmtime(self.now - decisions[0][0] * DAY)):
                yield decisions.pop(0)[1:]
            yield report
        for decision in decisions:
            yield decision[1:]

    def plan(self):
        """What a team must be told, by the ids of groups."""
        of_bug = collections.defaultdict(list)
        for report in self.reports:
            of_bug[report["fingerprint"]].append(report)
        groups = {}
        for bug in self.bugs():
            reports = of_bug[fingerprint_of(bug)]
            order = [name for name, _ in PROGRAMS[bug[0]][0]]
            groups[fingerprint_of(bug)] = {
                "program": bug[0], "function": function_of(bug), "count": len(reports),
                "machines": len({report["host"]["hostname"] for report in reports}),
                "hosts": collections.Counter(r["host"]["hostname"] for r in reports),
                "users": {release: sorted({r["tags"]["user"] for r in reports
                                           if release in ("", r["release"])} - {None})
                          for release in [""] + order},
                "releases": collections.Counter(r["release"] for r in reports),
                "first_release": min((r["release"] for r in reports), key=order.index),
                "first_seen": reports[0]["time"], "last_seen": reports[-1]["time"],
                "status": "regressed" if bug in BACK else
                          "resolved" if bug in (OLD_ONLY, FIXED) else "open",
                "assignee": "kim" if bug == TAKEN else ""}
        def ids(bugs):
            return sorted(fingerprint_of(bug) for bug in bugs)
        return {"reports": len(self.reports), "groups": groups, "new": ids(NEW),
                "back": ids(BACK), "rising": ids(RISING), "bad_host": BAD_HOST,
                "on_bad_host": ids(BAD_MEMORY), "taken": ids([TAKEN]),
                "resolved": ids([OLD_ONLY, FIXED]),
                "one_kernel": [fingerprint_of(ONE_KERNEL), KERNEL],
                "current": {name: current for name, (_, current) in PROGRAMS.items()},
                "busiest_day": {name: max(collections.Counter(
                    r["time"][:10] for r in self.reports if f"/{name}-" in
                    r["process"]["executable"] and r["time"][:10] > time.strftime(
                        "%Y-%m-%d", time.gmtime(self.now - 30 * DAY))).values())
                                for name in NAMES},
                "order": {name: [r for r, _ in releases] for name, (releases, _) in
                          PROGRAMS.items()},
                "next": sorted((g for g in groups if groups[g]["status"] != "resolved"),
                               key=lambda g: -groups[g]["count"])[:5]}


def send(fleet, collector):
    """Sends all over one connection, with the decisions where they were made."""
    connection = collector.connection()
    for event in fleet.events():
        if isinstance(event, dict):
            connection.request("POST", "/api/v1/reports", json.dumps(event))
        else:
            connection.request("POST", "/api/v1/groups/" + fingerprint_of(event[0]),
                               json.dumps(event[1]))
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status in (200, 201), body
    connection.close()


if __name__ == "__main__":
    written = Fleet(int(sys.argv[1]))
    os.makedirs(sys.argv[2], exist_ok=True)
    with open(os.path.join(sys.argv[2], "reports.ndjson"), "w", encoding="utf-8") as out:
        for line in written.reports:
            out.write(json.dumps(line) + "\n")
    with open(os.path.join(sys.argv[2], "plan.json"), "w", encoding="utf-8") as out:
        json.dump(written.plan(), out, indent=1)
