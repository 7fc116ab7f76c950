# SPDX-License-Identifier: Apache-2.0
#
# some_cases.py TEST.py: runs the test without the cases that AArch64 does not have.

import importlib
import os
import sys
import unittest

UNTRIED = "it was not tried on an emulated processor"

# A test of a class, or a case of a table, and why it is left out.
LEFT_OUT = {
    "test_runtime_words.py": {
        ("RuntimeWords", "test_what_happens_inside_the_c_library_is_told_by_what_was_asked_of_it"):
            UNTRIED,
        ("RuntimeWords", "test_a_core_tells_of_a_protection_key_on_any_processor"): UNTRIED,
        ("RuntimeWords", "test_a_check_of_the_c_library_names_who_failed_it"):
            "the headers that it was built with are in no folder of a system's",
    },
}


def leave_out(module, owner, name):
    held = getattr(module, owner)
    if isinstance(held, dict):
        del held[name]
    else:
        delattr(held, name)


def main():
    path = sys.argv.pop(1)
    folder, name = os.path.split(path)
    sys.path.insert(0, folder)
    module = importlib.import_module(name.removesuffix(".py"))
    for owner, each in LEFT_OUT[name]:
        leave_out(module, owner, each)
    unittest.main(module=module, verbosity=2)


if __name__ == "__main__":
    main()
