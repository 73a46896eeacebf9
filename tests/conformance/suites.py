"""The suites: whose tests, at which version, against how many brokers, and how they are told where those are."""

from __future__ import annotations

from tests.conformance.sources import Git
from tests.conformance.suite import STAND_INS, Suite
from tests.conformance.world import World
from tests.support.kafka_jars import KAFKA_VERSION

PYTEST = ("pytest==9.0.2", "pytest-asyncio==1.3.0", "pytest-mock==3.15.1", "pytest-timeout==2.4.0")

SERIALIZERS = (
    *(
        "attrs==26.1.0",
        "authlib==1.9.9",
        "avro==1.12.2",
        "cachetools==8.0.1",
        "certifi==2026.10.19.post1",
        "fastavro==1.13.1",
        "httpx==0.28.1",
    ),
    *("jsonschema==4.26.0", "protobuf==7.36.2", "requests==2.34.2"),
)
"""What confluent-kafka's serializers need, which its fixtures import."""

AIOKAFKA = tuple(
    f"tests/test_{name}.py"
    for name in (
        "admin",
        "client",
        "conn",
        "consumer",
        "coordinator",
        "pep492",
        "producer",
        "sasl",
        "sender",
        "transactional_consumer",
        "transactional_producer",
    )
)


def kafka_python(world: World) -> dict[str, str]:
    """`KAFKA_ROOT` has to be a folder: where Kafka's scripts would be, which are used only for brokers that the suite starts."""
    uri = f"plaintext://127.0.0.1:{world.ports[0]}"
    return {"KAFKA_URI": uri, "KAFKA_VERSION": KAFKA_VERSION, "KAFKA_ROOT": str(world.folder)}


def aiokafka(world: World) -> dict[str, str]:
    path = f"{STAND_INS / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    installed = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(STAND_INS)}  # the package with its C parts, not the one of the checkout
    return {**installed, "HIGHWATER_BROKER": str(world.ports[0]), "PATH": path}


def confluent_kafka(world: World) -> dict[str, str]:
    return {"BROKERS": world.bootstrap}


SUITES: tuple[Suite, ...] = (
    Suite(
        name="kafka-python",
        words="The integration tests of the pure Python client, without those of TLS, which start brokers of their own.",
        source=Git("https://github.com/dpkp/kafka-python", "3.0.11", "46b2c48ce456b918445c40ef2373ba2239c62ba6"),
        variables=kafka_python,
        packages=(*PYTEST, "kafka-python==3.0.11", "py==1.11.0", "lz4==4.4.5", "python-snappy==0.7.3", "zstandard==0.25.0", "crc32c==2.8"),
        arguments=("test/integration", "--ignore=test/integration/test_ssl_integration.py"),
        first_id=0,
        settings={"num.partitions": "4", "offsets.topic.num.partitions": "2", "group.min.session.timeout.ms": "1000"},
    ),
    Suite(
        name="aiokafka",
        words="The tests of the asyncio client, without the files that need no broker.",
        source=Git("https://github.com/aio-libs/aiokafka", "0.14.0", "672947afe85c91b7d953f0259e69837a711d3246"),
        variables=aiokafka,
        packages=(*PYTEST, "aiokafka==0.14.0", "async-timeout==5.0.1", "cramjam==2.11.0"),
        arguments=(f"--docker-image=broker:2.13_{KAFKA_VERSION}", "--no-pull", "--import-mode=append", *AIOKAFKA),
        plugin="broker_port",
        first_id=0,
        settings={"num.partitions": "2"},
    ),
    Suite(
        name="confluent-kafka-python",
        words="The integration tests of the client over librdkafka, without those of schema registries and of share groups (Kafka 4.2).",
        source=Git("https://github.com/confluentinc/confluent-kafka-python", "2.15.0", "8b1c7a613434eee3d0e1287d624d7af04932f410"),
        variables=confluent_kafka,
        packages=(*PYTEST, "confluent-kafka==2.15.0", "trivup==0.12.2", *SERIALIZERS),
        arguments=(
            "--import-mode=append",
            "tests/integration",
            "--ignore=tests/integration/schema_registry",
            "--ignore-glob=*/share_consumer*",
        ),
    ),
)
