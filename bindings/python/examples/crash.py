# SPDX-License-Identifier: Apache-2.0
"""Has a C function read through a null pointer."""

import ctypes
import sys

import crashhook


def price_of(order):
    crashhook.breadcrumb(f"order of {order}")
    return ctypes.CDLL(None).strlen(None)


def main():
    crashhook.install(release="1.4.2")
    if "faulthandler" in sys.argv:
        import faulthandler
        faulthandler.enable()
    with crashhook.tag("stage", "pricing"):
        print(price_of("pear"))


if __name__ == "__main__":
    main()
