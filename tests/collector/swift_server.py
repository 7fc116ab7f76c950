#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# swift_server.py FOLDER: OpenStack's Swift with its S3 interface, all in this process, on a port of
# 127.0.0.1 that it prints: account, container and object server, and the proxy, with what
# they store in FOLDER, which needs extended attributes. It checks signatures and hashes. Key
# `test:tester`, secret `testing`. Exit 77, and says so, where Swift is not installed.

import os
import sys

try:
    import eventlet
    eventlet.monkey_patch()
    from eventlet import wsgi
    from swift.account import server as account_server
    from swift.common import utils
    from swift.common.middleware import catch_errors, gatekeeper, tempauth
    from swift.common.middleware.s3api import s3api
    from swift.common.ring import RingBuilder
    from swift.container import server as container_server
    from swift.obj import server as object_server
    from swift.proxy import server as proxy_server
except ImportError as missing:
    print(f"SKIPPED: no Swift is installed (package python3-swift): {missing}")
    sys.exit(77)

PART_POWER = 4


class Cache(dict):
    """What stands for memcached."""

    def __bool__(self):
        return True

    def get(self, key, **_):
        return dict.get(self, key)

    def set(self, key, value, **_):
        self[key] = value

    def incr(self, key, delta=1, **_):
        self[key] = (self.get(key) or 0) + delta
        return self[key]

    def delete(self, key, **_):
        self.pop(key, None)


class Silent:
    """A log that nobody reads."""

    def __getattr__(self, _):
        return lambda *args, **more: None


def listen(application):
    """Serves an application on a port of its own; the port."""
    listening = eventlet.listen(("127.0.0.1", 0))
    eventlet.spawn(wsgi.server, listening, application, log=Silent(), log_output=False)
    return listening.getsockname()[1]


def make_ring(folder, name, port):
    builder = RingBuilder(PART_POWER, 1, 0)
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1.0, "ip": "127.0.0.1",
                     "port": port, "device": "disk", "replication_ip": "127.0.0.1",
                     "replication_port": port})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, name + ".ring.gz"))


def start(folder):
    """Starts all of it; the port of the proxy."""
    utils.HASH_PATH_PREFIX = utils.HASH_PATH_SUFFIX = b"crashhook"
    devices = os.path.join(folder, "devices")
    os.makedirs(os.path.join(devices, "disk"))
    common = {"devices": devices, "mount_check": "false", "swift_dir": folder,
              "recon_cache_path": folder, "fallocate_reserve": "0"}
    servers = {"account": account_server.AccountController,
               "container": container_server.ContainerController,
               "object": object_server.ObjectController}
    for name, server in servers.items():
        make_ring(folder, name, listen(server(common, logger=utils.get_logger({}, name))))
    application = proxy_server.Application(
        dict(common, allow_account_management="true", account_autocreate="true"),
        logger=utils.get_logger({}, "proxy"))
    for middleware, settings in (
            (tempauth, {"user_test_tester": "testing .admin"}),
            (s3api, {"location": "us-east-1", "s3_acl": "false"}),
            (gatekeeper, {}), (catch_errors, {})):
        application = middleware.filter_factory(dict(common), **settings)(application)
    cache = Cache()

    def with_cache(environment, answer):
        environment["swift.cache"] = cache
        return application(environment, answer)

    return listen(with_cache)


def main():
    print(start(sys.argv[1]), flush=True)
    while True:
        eventlet.sleep(3600)


if __name__ == "__main__":
    sys.exit(main())
