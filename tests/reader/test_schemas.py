"""Records written by confluent-kafka's own serializers, decoded by a registry that speaks REST; and registries that do not."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from msgspec.structs import replace

from console.models import Cluster, SchemaRegistry
from console.rules.records.masking import Rule
from console.rules.records.schemas import SchemaName
from console.searches import files
from tests.reader.conftest import Topic
from tests.support.schema_registry import Registry, running_registry

CARD = 4111_1111_1111_1111
PAID = {"type": "record", "name": "Paid", "fields": [{"name": "card", "type": "long"}, {"name": "note", "type": "bytes"}]}
PROTO = 'syntax = "proto3"; package shop; message Other {} message Order { message Line { string sku = 1; int64 card = 2; } }'


@pytest.fixture
def registry(registered: Cluster) -> Iterator[Registry]:
    with running_registry() as server:
        SchemaRegistry.objects.create(cluster=registered, url=server.url, set_by="somebody")
        yield server


def framed(number: int, body: bytes) -> bytes:
    return b"\0" + struct.pack(">I", number) + body


def avro(registry: Registry, topic: Topic, value: dict[str, Any]) -> bytes:
    with SchemaRegistryClient({"url": registry.url}) as client:
        found = AvroSerializer(client, json.dumps(PAID))(value, SerializationContext(topic.name, MessageField.VALUE))
    assert found is not None
    return found


def test_values_of_each_kind_are_shown_decoded(topic: Topic, registry: Registry) -> None:
    one = avro(registry, topic, {"card": CARD, "note": b"hello"})
    with SchemaRegistryClient({"url": registry.url}) as client:
        serializer = JSONSerializer('{"title": "Paid", "type": "object"}', client)
        two = serializer({"card": 1}, SerializationContext(topic.name, MessageField.VALUE))
    three = framed(registry.add("shop", {"schema": PROTO, "schemaType": "PROTOBUF"}), b"\x04\x02\x00" + b"\x0a\x01a\x10\x07")
    topic.write({"value": one}, {"value": two}, {"value": three}, {"value": framed(99, b"x")}, {"value": framed(1, b"\x02")})
    _, found = topic.search(start="oldest")
    values = [record.value for record in found]
    assert all(values)
    assert [value.format for value in values[:3] if value] == ["avro", "json", "protobuf"]
    assert values[0] and json.loads(values[0].text) == {"card": CARD, "note": "hello"} and values[0].size == len(one)
    assert values[0].schema == SchemaName(id=1, type="AVRO", subject=f"{topic.name}-value", version=1, subjects=1)
    assert values[2] and json.loads(values[2].text) == {"sku": "a", "card": "7"}
    assert values[2].schema and values[2].schema.message == "shop.Order.Line"
    assert values[3] and "schema 99 could not be had" in values[3].note and "Schema not found" in values[3].note
    assert values[4] and "schema 1 does not fit" in values[4].note
    assert len(topic.search(start="oldest", path="$.card", equals=str(CARD))[1]) == 1


def test_a_message_within_others_is_the_one_that_protobufs_serializer_names(topic: Topic, registry: Registry) -> None:
    file = described()
    registry.texts[base64.b64encode(file.SerializeToString()).decode()] = PROTO
    pool = DescriptorPool()
    pool.Add(file)
    line = GetMessageClass(pool.FindMessageTypeByName("shop.Order.Line"))
    with SchemaRegistryClient({"url": registry.url}) as client:
        raw = ProtobufSerializer(line, client)(line(sku="a", card=7), SerializationContext(topic.name, MessageField.VALUE))
    topic.write({"value": raw})
    _, (one,) = topic.search(start="oldest")
    assert one.value and one.value.schema and one.value.schema.message == "shop.Order.Line"
    assert one.value.schema.subject == f"{topic.name}-value"
    assert json.loads(one.value.text) == {"sku": "a", "card": "7"}


def described() -> FileDescriptorProto:
    """What PROTO says, as its compiler tells it."""
    line = DescriptorProto(name="Line")
    line.field.add(name="sku", number=1, type=FieldDescriptorProto.TYPE_STRING, label=FieldDescriptorProto.LABEL_OPTIONAL)
    line.field.add(name="card", number=2, type=FieldDescriptorProto.TYPE_INT64, label=FieldDescriptorProto.LABEL_OPTIONAL)
    messages = [DescriptorProto(name="Other"), DescriptorProto(name="Order", nested_type=[line])]
    return FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3", message_type=messages)


@pytest.mark.parametrize("form", ["auto", "registry", "hex", "string", "long", "msgpack"])
@pytest.mark.parametrize("rule", [Rule("pattern", "[0-9]{13,}"), Rule("field", "$.card")])
def test_a_rule_sees_what_is_decoded_in_any_format(topic: Topic, registry: Registry, rule: Rule, form: str) -> None:
    raw = avro(registry, topic, {"card": CARD, "note": b"hello"})
    topic.write({"value": raw})
    _, (one,) = topic.search((rule,), start="oldest", value=form)
    assert one.value and one.value.masked and str(CARD) not in one.value.text and raw.hex(" ")[:30] not in one.value.text
    assert topic.search((rule,), start="oldest", text=str(CARD), value=form)[1] == []
    assert topic.search((rule,), start="oldest", path="$.card", equals=str(CARD), value=form)[1] == []


def test_bytes_that_are_shown_encoded_hide_nothing_from_a_pattern(topic: Topic, registry: Registry) -> None:
    topic.write({"value": avro(registry, topic, {"card": 1, "note": b"\xff" + str(CARD).encode()})})
    _, (one,) = topic.search((Rule("pattern", "[0-9]{13,}"),), start="oldest")
    assert one.value and one.value.text == "•••"


def test_a_registry_that_is_away_costs_a_word_and_hides_under_a_rule(topic: Topic, registry: Registry) -> None:
    SchemaRegistry.objects.update(url="http://127.0.0.1:1")
    topic.write({"value": framed(1, b"xyz")}, {"value": b'{"card": 1}'})
    _, found = topic.search(start="oldest")
    assert found[0].value and found[0].value.note.startswith("schema 1 could not be had: http://127.0.0.1:1 does not answer")
    assert found[1].value and found[1].value.format == "json" and not found[1].value.note
    _, hidden = topic.search((Rule("pattern", "[0-9]{13,}"),), start="oldest", value="hex")
    assert hidden[0].value and hidden[0].value.masked and "xyz" not in hidden[0].value.text


def test_a_schema_that_is_poison_harms_its_own_records_alone(topic: Topic, registry: Registry) -> None:
    good = avro(registry, topic, {"card": CARD, "note": b""})
    deep = registry.add("deep", {"schema": '{"type":"array","items":' * 5000 + '"int"' + "}" * 5000})
    nulls = registry.add("nulls", {"schema": '{"type": "array", "items": "null"}'})
    topic.write({"value": framed(deep, b"\x02")}, {"value": framed(nulls, b"\xfe\xff\xff\xff\xff\xff\xff\x7f\x00")}, {"value": good})
    progress, found = topic.search(start="oldest")
    assert progress.state == "done"
    assert [bool(one.value and one.value.note) for one in found] == [True, True, False]


def test_what_a_schema_decodes_is_had_as_written_only_without_rules(
    topic: Topic, registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is decoded may lack some of the bytes: that a rule hides nothing of it says nothing of them."""
    monkeypatch.setattr(files, "folder", lambda: tmp_path)
    raw = avro(registry, topic, {"card": CARD, "note": b"hello"})
    topic.write({"value": raw})
    for rules in ((), (Rule("pattern", "nothing of this"),)):
        search = replace(topic.asked(rules, start="offset", offset=0, partition=0, count=1), raw="value", chars=0)
        _, (one,) = topic.read(search)
        path = files.path_of(search)
        assert one.value and (one.value.masked, path.exists()) == (bool(rules), not rules)
        assert rules or path.read_bytes() == raw
