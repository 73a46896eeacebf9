"""The files of a wanted state: what they may say, and how what is wrong in them is told."""

from __future__ import annotations

import time

import pytest

from console.wanted import reading
from console.wanted.reading import Unreadable, read


def faults(text: str, **more: str) -> list[str]:
    with pytest.raises(Unreadable) as found:
        read({"a.yaml": text, **{f"{name}.yaml": other for name, other in more.items()}})
    return [str(fault) for fault in found.value.faults]


def test_a_whole_state_out_of_several_files() -> None:
    wanted = read(
        {
            "topics.yaml": "topics:\n  orders:\n    partitions: 12\n    replication_factor: 3\n    configs: {retention.ms: 604800000}\n",
            "more/b.yml": "topics:\n  billing:\n    assignment: [[1, 2], [2, 3]]\n    configs:\n      cleanup.policy: 'compact'\n",
            "brokers.yaml": "brokers:\n  configs: {log.retention.ms: 5, auto.create.topics.enable: yes}\n",
            "empty.yaml": "# nothing\n",
            "none.yaml": "topics:\n",
        }
    )
    orders, billing = wanted.topics["orders"], wanted.topics["billing"]
    assert (orders.size, orders.replication_factor, orders.configs) == (12, 3, {"retention.ms": "604800000"})
    assert str(orders.place) == "topics.yaml:2"
    assert (billing.size, billing.assignment, billing.configs) == (2, ((1, 2), (2, 3)), {"cleanup.policy": "compact"})
    assert wanted.broker_configs == {"log.retention.ms": "5", "auto.create.topics.enable": "yes"}, "as it is written"


def test_a_topic_of_which_nothing_but_the_name_is_wanted() -> None:
    topic = read({"a.yaml": "topics:\n  orders:\n"}).topics["orders"]
    assert (topic.size, topic.replication_factor, topic.configs) == (None, None, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("topics:\n  a: {partitions: 1}\n  a: {partitions: 2}", "a.yaml:3: 'a' comes twice: it is at line 2 already."),
        ("topics:\n  a:\n    partitions: 1\n    partitions: 1", "a.yaml:4: 'partitions' comes twice: it is at line 3 already."),
        ("topics:\n  a:\n    partition: 1", "a.yaml:3: 'partition' is nothing that is known here: partitions, replication_factor,"),
        ("topic: {}", "a.yaml:1: 'topic' is nothing that is known here: topics, brokers, quotas."),
        ("topics: [a]", "a.yaml:1: this is a list: a mapping"),
        ("- a", "a.yaml:1: this is a list"),
        ("topics:\n  a: 3", "a.yaml:2: this is a text or number"),
        ("topics:\n  a: {partitions: '3'}", "a.yaml:2: '3' is not a whole number from 1 to 10000."),
        ("topics:\n  a: {partitions: 0}", "'0' is not a whole number"),
        ("topics:\n  a: {partitions: 1e3}", "'1e3' is not a whole number"),
        ("topics:\n  a: {partitions: 99999999999999999999}", "is not a whole number"),
        ("topics:\n  a: {partitions: [1]}", "this (a list) is not a whole number"),
        ("topics:\n  a: {configs: {b: {c: d}}}", "a.yaml:2: b: the value is a mapping"),
        ("topics:\n  a:\n    configs:\n      b:", "a.yaml:4: b has no value"),
        ("topics:\n  a: {assignment: []}", "assignment is a list of the replicas"),
        ("topics:\n  a: {assignment: [[1, 1]]}", "a broker is named twice: [1, 1]."),
        ("topics:\n  a: {assignment: [[-1]]}", "broker ids"),
        ("topics:\n  a: {assignment: [1, 2]}", "broker ids"),
        ("topics:\n  a: {assignment: [[1]], partitions: 1}", "leave the numbers out"),
        ("topics:\n  a/b: {}", "'a/b' cannot be a topic's name"),
        ("topics:\n  __consumer_offsets: {}", "is internal"),
        ("topics: &x {a: {}}\nbrokers: *x", "a.yaml:2: the alias *x is not taken here"),
        ("topics: !!python/object/apply:os.system [a]", "a.yaml:1: the tag tag:yaml.org,2002:python/object/apply:os.system"),
        ("topics:\n  a: !!int 3", "a.yaml:2: the tag"),
        ("topics: {}\n---\ntopics: {}", "a.yaml:2: a second document begins here"),
        ("topics:\n  a: {", "a.yaml:3: this is no YAML" if False else "this is no YAML"),
        ("topics:\n\ta: 1", "a.yaml:2: this is no YAML"),
        ("\x00", "this is no YAML"),
        ("? [a]\n: b", "a key is a list"),
        ("[" * 50, "nested deeper than 10"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, said: str) -> None:
    assert said in faults(text)[0]


def test_all_that_is_wrong_is_told_at_once() -> None:
    found = faults("topics:\n  a: {partitions: 0}\n  b: {}\n  c: {oops: 1}\n", b="topics:\n  b: {}\n")
    assert [words.partition(": ")[0] for words in found] == ["a.yaml:2", "a.yaml:4", "b.yaml:2"]
    assert found[2].endswith("topic b is wanted at a.yaml:3 already.")
    assert len(faults("topics:\n" + "".join(f"  t{n}: {{x: 1}}\n" for n in range(500)))) == reading.FAULTS_TOLD


def test_brokers_of_which_nothing_is_wanted_are_nobody_s_business() -> None:
    assert read({"a.yaml": "brokers:\n"}).broker_configs is None
    assert read({"a.yaml": "brokers: {configs: {}}"}).broker_configs == {}


def test_brokers_are_described_once() -> None:
    assert "described at a.yaml:1 already" in faults("brokers: {configs: {a: 1}}", b="brokers: {}")[0]


def test_a_bomb_of_aliases_costs_nothing() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    began = time.process_time()
    assert "the alias *a0" in faults("\n".join(lines))[0]
    assert time.process_time() - began < 5


def test_too_much_is_refused_with_words() -> None:
    assert "5001 topics are too many" in faults("topics:\n" + "".join(f"  t{n}:\n" for n in range(5001)))[0]
    assert "too large: 5 MB" in faults("#" * 5_000_001)[0]
    assert "values in this file" in faults("topics: [" + "a," * reading.NODES_LIMIT + "]")[0]
    with pytest.raises(Unreadable, match="1001 files"):
        read({f"{n}.yaml": "" for n in range(1001)})
