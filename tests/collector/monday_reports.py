# SPDX-License-Identifier: Apache-2.0
#
# Eight weeks of a fleet: 80 groups, 6 releases, 40 machines, 3 programs. What a team asks
# about them has known answers, planted here: groups that are new in the newest release,
# that came back, that rise, that are on all machines, that share an argument or a depth,
# and a machine with bad memory. The same seed gives the same reports.

import json
import random
import time

import sample_reports

DAY = 86400
DAYS = 56
SEED = 20261123
GROUPS = 80
RELEASES = [f"1.{minor}.0" for minor in range(6)]
NEWEST = RELEASES[-1]
HOSTS = [f"web-{number:02}" for number in range(40)]
BAD_HOST = "web-13"
GOOD_HOSTS = [host for host in HOSTS if host != BAD_HOST]
PROGRAMS = ("/opt/shop/bin/shopd", "/opt/shop/bin/gatewayd", "/opt/shop/bin/mailer")
KINDS = ("null-dereference", "use-after-unmap", "abort", "assertion", "heap-corruption")

NEW = (0, 1, 2, 3)
BACK = (4, 5)
RISING = (6, 7)
EVERYWHERE = 8
DEEP = 9
NULL_KEY = 10
TAKEN = 12
BAD_MEMORY = tuple(range(70, 80))
CRASHED_SESSIONS = 5 # of the newest release's 1,000
WORDS = ("cart", "price", "stock", "order", "session", "mail", "route", "token", "page",
         "index", "cache", "queue", "user", "file", "image", "tax", "audit", "ledger")
ACTS = ("add", "find", "drop", "read", "write", "merge", "parse", "send", "load")


def function_of(group):
    return f"{WORDS[group % len(WORDS)]}_{ACTS[group % len(ACTS)]}_{group}"


def program_of(group):
    return PROGRAMS[group % len(PROGRAMS)]


def fingerprint_of(group):
    return f"{0xFA110000 + group:032x}"


def frames_of(group):
    word = WORDS[group % len(WORDS)]
    own = sample_reports.frame(function_of(group), f"src/{word}.c:{40 + group}:9", 0,
                               0x4000 + 64 * group)
    caller = sample_reports.frame(f"{word}_handle", f"src/{word}.c:300:5", 0,
                                  0x9000 + 16 * group)
    if group == NULL_KEY:
        own["arguments"] = [{"index": 0, "name": "k", "type": "struct key *",
                             "value": "NULL", "confidence": "exact"}]
    frames = [own, caller, sample_reports.frame("serve", "src/serve.c:77:12", 0, 0x3000)]
    if group == DEEP:
        frames.insert(1, {"kind": "omit", "count": 9500})
    return frames + sample_reports.START


class Monday:
    """The reports in the order of their time; count is about how many there are."""

    def __init__(self, count):
        self.chance = random.Random(SEED)
        self.now = int(time.time())
        self.number = 0
        self.reports = []
        weights = [1 / (1 + group % 30) for group in range(GROUPS)]
        scale = count / sum(weights)
        for group in range(GROUPS):
            self.plant(group, max(6, int(weights[group] * scale)))
        self.reports.sort(key=lambda report: report["time"])

    def release_at(self, ago_days):
        """The release that most machines ran then: a new one every nine days."""
        newest = max(0, len(RELEASES) - 1 - int(ago_days // 9))
        return RELEASES[max(0, newest - self.chance.choice((0, 0, 0, 1)))]

    def plant(self, group, count):
        if group in BAD_MEMORY:
            for _ in range(2):
                self.add(group, self.chance.random() * 20, RELEASES[-2], BAD_HOST)
        elif group in NEW:
            for _ in range(count // 4 + 4):
                self.add(group, self.chance.random() * 5, release=NEWEST)
        elif group in BACK:
            for _ in range(count // 4 + 4):
                self.add(group, 30 + self.chance.random() * 20, release=RELEASES[1])
            self.add(group, 1, release=NEWEST)
        elif group in RISING:
            for _ in range(20):
                self.add(group, 8 + self.chance.random() * 40)
            for _ in range(max(40, count)):
                self.add(group, self.chance.random() * 5)
        else:
            # As many in each week, and none so few that a chance rise counts.
            for i in range(count):
                self.add(group, (i + 0.5) * (DAYS - 1) / count,
                         host=GOOD_HOSTS[i % len(GOOD_HOSTS)]
                         if group == EVERYWHERE else None)
            for i in range(len(GOOD_HOSTS) if group == EVERYWHERE else 0):
                self.add(group, 10 + i, host=GOOD_HOSTS[i])

    def add(self, group, ago_days, release=None, host=None):
        self.number += 1
        kind = KINDS[group % len(KINDS)]
        spread = GOOD_HOSTS[group % 7::2]
        report = sample_reports.report(
            self.number, (11, "SIGSEGV", "SEGV_MAPERR", kind, hex(0x10 + group),
                          f"{function_of(group)} read where nothing is mapped"),
            frames_of(group), release=release or self.release_at(ago_days))
        crashed = report["threads"][0]
        crashed["registers"] = {"rip": "0x55d2c4a04000", "rsp": "0x7ffe12bf4ff8"}
        report["fingerprint"] = fingerprint_of(group)
        report["host"]["hostname"] = host or self.chance.choice(spread)
        report["process"]["executable"] = program_of(group)
        report["process"]["uptime_ms"] = int(self.chance.random() ** 3 * 400_000_000)
        report["images"] = report["images"][:2]
        stamp = self.now - int(ago_days * DAY)
        report["time"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stamp))
        self.reports.append(report)

    def send(self, collector):
        """Sends all, and decides as a team would have on the way: what came back was
        resolved before the newest release, and one group is taken."""
        before = [report for report in self.reports if not self.is_back(report)]
        back = [report for report in self.reports if self.is_back(report)]
        send_all(collector, before)
        for group in BACK:
            decide(collector, group, status="resolved", release="1.2.0")
        send_all(collector, back)
        decide(collector, TAKEN, assignee="kim", note="waits for the new driver")
        self.send_starts(collector)

    def send_starts(self, collector):
        """What two machines counted yesterday: 1,000 starts of each release."""
        for number, release in enumerate(RELEASES):
            for host in HOSTS[:2]:
                self.number += 1
                answer = collector.json("POST", "/api/v1/starts", json.dumps(
                    {"id": sample_reports.report_id(self.number), "release": release,
                     "host": host, "day": self.now // DAY - 1, "starts": 500,
                     "ends": 480 + number}))
                assert answer[0] == 201, answer
        for number in range(CRASHED_SESSIONS):
            report = json.loads(json.dumps(self.reports[-1]))
            self.number += 1
            report.update(id=sample_reports.report_id(self.number), release=NEWEST,
                          session=f"{number + 1:016x}")
            report["host"]["hostname"] = HOSTS[0]
            send_all(collector, [report])
            self.reports.append(report)

    def is_back(self, report):
        return (report["release"] == NEWEST and
                report["fingerprint"] in [fingerprint_of(group) for group in BACK])


def decide(collector, group, **what):
    status, answer = collector.json("POST", "/api/v1/groups/" + fingerprint_of(group),
                                    json.dumps(what))
    assert status == 200, answer


def send_all(collector, reports):
    """Sends reports over one connection."""
    connection = collector.connection()
    headers = {"Authorization": "Bearer " + collector.token} if collector.token else {}
    for report in reports:
        connection.request("POST", "/api/v1/reports", json.dumps(report), headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 201, body
    connection.close()
