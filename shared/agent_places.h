// SPDX-License-Identifier: Apache-2.0
//
// Where an agent is that nothing names, in the order in which it is looked for. Users:
// the handler, which starts the first one that may be executed, and `crashhook doctor`,
// which tells what the handler would find.
#pragma once

// AGENT_PLACES_BESIDE is an initializer of paths from the folder of the library or, for
// the static one, of the program: there, in libexec of the tree that the folder is in
// (bin/, lib/ or lib/x86_64-linux-gnu/), and in the same tree's lib.
#define AGENT_PLACES_BESIDE                                                            \
    {                                                                                  \
        "crashhook-agent", "../libexec/crashhook/crashhook-agent",                     \
            "../../libexec/crashhook/crashhook-agent",                                 \
            "../lib/crashhook/crashhook-agent",                                        \
    }

// AGENT_PLACES_INSTALLED is absolute paths, each with its terminator: where this
// version is installed, where another project's build has just put it, and where others
// install.
#ifdef CRASHHOOK_BUILT_AGENT
#define AGENT_PLACE_BUILT CRASHHOOK_BUILT_AGENT "\0"
#else
#define AGENT_PLACE_BUILT ""
#endif
#define AGENT_PLACES_INSTALLED                                                         \
    CRASHHOOK_LIBEXECDIR "/crashhook/crashhook-agent\0" AGENT_PLACE_BUILT              \
                         "/usr/libexec/crashhook/crashhook-agent\0"                    \
                         "/usr/local/libexec/crashhook/crashhook-agent"
