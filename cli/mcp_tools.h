// SPDX-License-Identifier: Apache-2.0
//
// The tools that `crashhook mcp` offers. They read reports and change nothing; no code
// of a crashed program runs. Users: mcp.
#pragma once
#include <jansson.h>

#include "base/text.h"
#include "cli/session/command.h"

enum {
    MCP_TOOL_MAX_MS = 60000, // one call
    MCP_ANSWER_BYTES = 32 << 10,
    MCP_ANSWER_MAX_BYTES = 256 << 10,
};

// mcp_tools_list is the answer to tools/list; the caller owns it.
json_t *mcp_tools_list(void);

// mcp_tools_find says whether there is a tool of that name.
bool mcp_tools_find(const char *name);

// mcp_tools_call runs a tool in a child process and appends what it says to out, at
// most max_bytes from offset on of it, which are arguments too. options are those of
// `crashhook mcp`. False: it failed, and out has the reason in one line.
bool mcp_tools_call(const char *name, const json_t *arguments,
                    const struct options *options, struct text *out);
