# SPDX-License-Identifier: Apache-2.0
#
# crashes.py HOW: crashes inside of C, called by functions that a report has to name.

import ctypes
import sys


class Shop:
    def total(self, address):
        try:
            raise KeyError("no such article")
        except KeyError:
            return ctypes.string_at(address)  # crashes here: shop

    def name(self, address):
        return ctypes.string_at(address)  # crashes here: name


def articles(shop, address):
    yield shop.total(address)


def within_call(address):
    return list(map(ctypes.string_at, [address]))  # crashes here: map


def deep(depth):
    return Shop().name(0) if depth == 0 else deep(depth - 1)


def main(how):
    shop = Shop()
    if how == "shop":
        return list(articles(shop, 0))
    if how == "other":
        return [shop.total(address) for address in (0,)]
    if how == "map":
        return within_call(0)
    if how == "deep":
        return deep(200)
    return shop.name(0)


main(sys.argv[1])
