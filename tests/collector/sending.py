# SPDX-License-Identifier: Apache-2.0
#
# Senders that go on until they are acknowledged, and what must be true afterwards: for
# tests in which a database dies.

import http.client
import threading
import time

import sample_reports

CLIENTS = 4


class Sender(threading.Thread):
    """Sends its reports one by one, each until it is acknowledged, as senders do."""

    def __init__(self, collector, reports):
        super().__init__()
        self.collector, self.reports = collector, reports
        self.acknowledged, self.answers, self.enough = [], set(), threading.Event()

    def send(self, report):
        while not self.enough.is_set():
            try:
                status, _ = self.collector.post(report)
            except (OSError, http.client.HTTPException):
                status = 0
            self.answers.add(status)
            if status in (200, 201):
                self.acknowledged.append((time.monotonic(), report["id"]))
                return
            time.sleep(0.1)

    def run(self):
        for report in self.reports:
            if self.enough.is_set():
                return
            self.send(report)
            time.sleep(0.01)


def start_senders(test, collector):
    """Senders of more reports than a test lasts, and the function that ends them."""
    senders = [Sender(collector, [sample_reports.raw(i)
                                  for i in range(number, 20000, CLIENTS)])
               for number in range(CLIENTS)]
    for sender in senders:
        sender.start()

    def end():
        for sender in senders:
            sender.enough.set()
        for sender in senders:
            sender.join()
    test.addCleanup(end)
    return senders, end


def await_stored(test, senders, since, patience):
    """The seconds from then until a report was stored that came after."""
    while time.monotonic() < since + patience:
        times = [t for s in senders for t, _ in list(s.acknowledged) if t > since]
        if times:
            return min(times) - since
        time.sleep(0.02)
    return test.fail(f"nothing was stored within {patience} s")


def stored_ids(collector):
    """The IDs of all reports, page by page."""
    found, cursor = [], ""
    while cursor is not None:
        status, page = collector.json("GET", "/api/v1/reports?limit=200" +
                                      (f"&cursor={cursor}" if cursor else ""))
        if status != 200:
            raise AssertionError(f"the list was answered with {status}: {page}")
        found += [row["id"] for row in page["reports"]]
        cursor = page["next"]
    return found


def all_there_once(test, collector, senders, also=0):
    """How many reports there are: the acknowledged ones, each once, and `also` others."""
    acknowledged = [i for s in senders for _, i in s.acknowledged]
    found = stored_ids(collector)
    test.assertEqual(len(found), len(set(found)), "a report is there twice")
    test.assertEqual(set(acknowledged) - set(found), set(), "reports are lost")
    _, groups = collector.json("GET", "/api/v1/groups?limit=200")
    counted = sum(group["count"] for group in groups["groups"])
    if groups["next"] is None:
        test.assertEqual(counted, len(found), "a report was counted twice")
    test.assertGreaterEqual(len(found), len(set(acknowledged)) + also)
    return len(found)
