"""Slices of the sorted sets that lists are made of (`sorting`): from a place in them, or from after a name and its score.

What is not known comes last in either order; all else is turned round in the other one. One script does it in one step, so that a row
that moves meanwhile is seen where it was or where it is: a cursor holds the last row's score and name, not a count of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from console.snapshot.sorting import UNKNOWN

ALL = 2**53
SLICE = """
local key, turned, count = KEYS[1], ARGV[1] == '1', tonumber(ARGV[2])
local total = redis.call('ZCARD', key)
local unknown = turned and redis.call('ZCOUNT', key, ARGV[3], ARGV[3]) or 0
local known = total - unknown

local function is_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function members_up_to(score, name, included)
  local low, high = 0, total
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', key, middle, middle, 'WITHSCORES')
    local there = tonumber(found[2])
    local is_less = there < score or (there == score and (is_before(found[1], name) or (included and found[1] == name)))
    if is_less then low = middle + 1 else high = middle end
  end
  return low
end

local first
if ARGV[4] == 'from' then
  first = tonumber(ARGV[5])
else
  local score, name = tonumber(ARGV[5]), ARGV[6]
  if not turned then first = members_up_to(score, name, true)
  elseif score < tonumber(ARGV[3]) then first = known - members_up_to(score, name, false)
  else first = known + total - members_up_to(score, name, false) end
end
if not turned then return redis.call('ZRANGE', key, first, first + count - 1, 'WITHSCORES') end
local found = {}
if first < known then
  found = redis.call('ZREVRANGE', key, unknown + first, unknown + math.min(first + count, known) - 1, 'WITHSCORES')
end
if first + count > known and unknown > 0 then
  local rest = redis.call('ZREVRANGE', key, math.max(first - known, 0), math.min(first + count - known, unknown) - 1, 'WITHSCORES')
  for _, one in ipairs(rest) do found[#found + 1] = one end
end
return found
"""


class Mark(NamedTuple):
    """A row's place in a list: its score as Redis writes it, and its name."""

    score: str
    name: str


def slice_from(ask: Any, key: str, *, turned: bool, first: int = 0, count: int = ALL) -> list[Mark]:
    """`ask` runs a Redis command; up to `count` rows from that place on."""
    return _marks(ask("eval", SLICE, 1, key, int(turned), count, UNKNOWN, "from", first))


def slice_after(ask: Any, key: str, mark: Mark, *, turned: bool, count: int = ALL) -> list[Mark]:
    """Up to `count` rows from after that one on, which may be gone or elsewhere by now."""
    return _marks(ask("eval", SLICE, 1, key, int(turned), count, UNKNOWN, "after", mark.score, mark.name))


def _marks(found: list[str]) -> list[Mark]:
    return [Mark(score, name) for name, score in zip(found[::2], found[1::2], strict=True)]
