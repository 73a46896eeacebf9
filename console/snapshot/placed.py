"""Which partitions each broker has: a sorted set of all its replicas, and one of those it leads, the worst first.

A value says where a partition is, not where it was. So the hash `placed` keeps that, and a script takes the partition out of the sets of
those brokers that have it no longer, in the same step as the value is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from broker_core.contract.partitions import Partition
from console.snapshot import keys
from console.snapshot.sorting import topic_rank

PLACED = "placed"
DIGITS = 6
"""Numbers are filled up with zeros, so that names of one score are in their order."""
PLACE = """
local function each(text, act)
  local score, leader, brokers = string.match(text, '^(%S+) (%S+) (%S*)$')
  for broker in string.gmatch(brokers, '[^,]+') do act('hosted:' .. broker, score) end
  if leader ~= '-1' then act('led:' .. leader, score) end
end
for i = 1, #ARGV, 2 do
  local member, now = ARGV[i], ARGV[i + 1]
  local before = redis.call('HGET', KEYS[1] .. 'placed', member)
  if (before or '') ~= now then
    if before then each(before, function(set) redis.call('ZREM', KEYS[1] .. set, member) end) end
    if now == '' then
      redis.call('HDEL', KEYS[1] .. 'placed', member)
    else
      each(now, function(set, score) redis.call('ZADD', KEYS[1] .. set, score, member) end)
      redis.call('HSET', KEYS[1] .. 'placed', member, now)
    end
  end
end
"""


class Place(NamedTuple):
    """A partition by name."""

    topic: str
    partition: int

    @property
    def key(self) -> str:
        return keys.partition(self.topic, self.partition)


def hosted(broker_id: int, *, leads: bool = False) -> str:
    """The sorted set of a broker's replicas, or of the partitions that it leads, as `keys.named` takes it."""
    return f"{'led' if leads else 'hosted'}:{broker_id}"


def member_of(topic: str, number: int) -> str:
    return f"{topic}/{number:0{DIGITS}}"


def place_of(member: str) -> Place:
    topic, _, number = member.rpartition("/")
    return Place(topic, int(number))


def put_places(pipe: Any, cluster_id: str, values: Mapping[str, Any]) -> None:
    """Queues where the partitions among the values are now; None is nowhere."""
    told: list[str] = []
    for key, value in values.items():
        if isinstance(value, Partition):
            where = _where(topic_rank(value.state, value.topic), value.leader, value.assignment)
            told += (member_of(value.topic, value.partition), where)
        elif value is None and key.startswith("partition/"):
            topic, _, number = key.removeprefix("partition/").rpartition("/")
            told += (member_of(topic, int(number)), "")
    if told:
        pipe.eval(PLACE, 1, keys.prefix(cluster_id), *told)


@lru_cache(maxsize=4096)
def _where(rank: int, leader: int | None, assignment: tuple[int, ...]) -> str:
    """Remembered: every new high watermark asks for it anew, and few differ."""
    return f"{rank} {-1 if leader is None else leader} {','.join(map(str, assignment))}"
