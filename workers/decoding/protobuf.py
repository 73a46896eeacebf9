"""Protobuf as JSON: `protoc`, as a library, makes descriptors of the schema's text, and the runtime reads by them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import grpc_tools
import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError
from grpc_tools import protoc

from workers.decoding.avro import Shown

MAIN = "highwater-schema.proto"
NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9_./+ -]{0,250}")
INDEXES_MAX = 32
VARINT_BYTES_MAX = 10
ANY = "google/protobuf/any.proto"


def reader(text: str, references: Sequence[tuple[str, str]]) -> Callable[[bytes], Shown]:
    files = _compiled(text, references)
    pool = descriptor_pool.DescriptorPool()
    for one in files:
        pool.Add(one)  # type: ignore[attr-defined, unused-ignore]
    main: Any = pool.FindFileByName(MAIN)  # type: ignore[no-untyped-call, unused-ignore]
    messages = list(descriptor_pb2.FileDescriptorProto.FromString(main.serialized_pb).message_type)
    encoded = any(one.name == ANY or _has_bytes(one.message_type) for one in files)

    def read(body: bytes) -> Shown:
        indexes, rest = message_indexes(body)
        name = _named(messages, main.package, indexes)
        found = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()  # type: ignore[no-untyped-call, unused-ignore]
        try:
            found.ParseFromString(rest)
        except DecodeError as error:
            raise ValueError(f"no {name}: {error}") from None
        shown = json_format.MessageToDict(
            found, preserving_proto_field_name=True, always_print_fields_with_no_presence=True, descriptor_pool=pool
        )
        return msgspec.json.encode(shown), name, encoded

    return read


def _compiled(text: str, references: Sequence[tuple[str, str]]) -> list[Any]:
    """Descriptors, those before which others need. What `protoc` complains of it writes to the process's stderr."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "schemas", Path(folder) / "out"
        root.mkdir()
        for name, referred in (*references, (MAIN, text)):
            _write(root, name, referred)
        own = Path(grpc_tools.__file__).parent / "_proto"
        said = _stderr_of(
            lambda: protoc.main(["protoc", f"-I{root}", f"-I{own}", "--include_imports", f"--descriptor_set_out={out}", MAIN]), Path(folder)
        )
        if not out.exists():
            raise ValueError(f"protoc says: {said}" if said else "protoc cannot read it")
        return list(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


def _write(root: Path, name: str, text: str) -> None:
    """A name from outside: it leads nowhere but into the folder."""
    if not NAME.fullmatch(name):
        raise ValueError(f"it refers to {name[:80]!r}, which is no name of a file")
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _stderr_of(call: Callable[[], Any], folder: Path) -> str:
    """The first line that the library writes there meanwhile."""
    kept = os.dup(2)
    path = folder / "said"
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            call()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
    return path.read_text(errors="replace")[:4096].partition("\n")[0].replace(MAIN, "the schema")[:200]


def _has_bytes(messages: Iterable[Any]) -> bool:
    kind = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    return any(any(field.type == kind for field in one.field) or _has_bytes(one.nested_type) for one in messages)


def _named(messages: Sequence[Any], package: str, indexes: Sequence[int]) -> str:
    """The message's full name, by its place in the file, then in its message, and so on."""
    path, here = [package] if package else [], messages
    for index in indexes:
        if not 0 <= index < len(here):
            raise ValueError(f"the schema has no message at the place {list(indexes)}")
        path.append(here[index].name)
        here = list(here[index].nested_type)
    return ".".join(path)


def message_indexes(body: bytes) -> tuple[list[int], bytes]:
    """Which message it is, and what follows: zigzag varints, a count before them; a single 0 stands for the first message."""
    count, at = _varint(body, 0)
    if not 0 <= count <= INDEXES_MAX:
        raise ValueError(f"it has {count} message indexes")
    found = []
    for _ in range(count):
        index, at = _varint(body, at)
        found.append(index)
    return found or [0], body[at:]


def _varint(body: bytes, at: int) -> tuple[int, int]:
    found = 0
    for place, byte in enumerate(body[at : at + VARINT_BYTES_MAX]):
        found |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at + place + 1
    raise ValueError("its message indexes are cut off")
