-- SPDX-License-Identifier: Apache-2.0
--
-- Work for Lua, for check_locals.py.
local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end

local words = {}
for round = 1, 300 do
  local text = string.format("%d:%s", round, ("abc"):rep(round % 7))
  words[#words + 1] = text:gsub("b", "x"):upper()
  table.sort(words, function(a, b) return a < b end)
  if #words > 40 then words = {} end
  local made = setmetatable({ n = round }, { __index = function(t, k) return k .. t.n end })
  assert(made.name == "name" .. round)
  fib(round % 9)
  pcall(error, { code = round })
end
print(#words)
