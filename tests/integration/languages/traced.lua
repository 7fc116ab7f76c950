-- SPDX-License-Identifier: Apache-2.0
--
-- traced.lua: calls a function of C in a loop that LuaJIT compiles, and crashes there.
local ffi = require("ffi")
ffi.cdef[[ size_t strlen(const char *text); ]]
local COUNT = 5000
local texts = ffi.new("const char *[?]", COUNT)
local text = ffi.new("char[4]", "abc")
for i = 0, COUNT - 2 do texts[i] = text end
texts[COUNT - 1] = ffi.cast("const char *", 16)

local function total()
  local sum = 0
  for i = 0, COUNT - 1 do
    sum = sum + tonumber(ffi.C.strlen(texts[i]))
  end
  return sum
end
print(total())
