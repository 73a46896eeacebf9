"""What docker/ names exists: paths, settings, commands, metrics. No container engine is needed; `docker/prove.sh` runs the real thing."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from broker_core.cli.health import CHECKS
from broker_core.config import BrokerConfig
from broker_core.config.environment import properties_from

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
INSTRUCTIONS = {"ARG", "FROM", "ENV", "RUN", "COPY", "WORKDIR", "VOLUME", "USER", "CMD", "ENTRYPOINT", "STOPSIGNAL"}
BUILD_ARGUMENTS = {"BASE", "DEBIAN_MIRROR", "DEBIAN_SECURITY_MIRROR", "PIP_INDEX_URL"}
COMPOSE_ONLY = re.compile(r"HIGHWATER_(BROKER_[123]|PROMETHEUS|GRAFANA)_PORT|HIGHWATER_(IMAGES|TAG|PROMETHEUS_IMAGE)")
SHELL = ("docker/secrets.sh", "docker/postgres/start", "docker/redis/healthy", "docker/zookeeper/healthy", "docker/prove.sh")


def steps() -> Iterator[tuple[str, str]]:
    """(instruction, rest) of the Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", DOCKERFILE))
    for line in filter(None, text.splitlines()):
        word, _, rest = line.partition(" ")
        yield word, rest


def code() -> str:
    files = [path for package in ("broker_core", "console", "workers") for path in (ROOT / package).rglob("*.py")]
    return "\n".join(path.read_text() for path in files)


def test_the_dockerfile_is_made_of_instructions_and_copies_what_exists() -> None:
    stages: set[str] = set()
    for word, rest in steps():
        assert word in INSTRUCTIONS, word
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            assert base == "${BASE}" or base in stages
            stages.add(name)
        if word == "COPY":
            *sources, _target = [part for part in rest.split() if not part.startswith("--")]
            origin = re.match(r"--from=(\S+)", rest)
            assert origin is None or origin[1] in stages
            assert origin or all((ROOT / source).exists() for source in sources), sources
        if word in ("CMD", "ENTRYPOINT"):
            assert isinstance(json.loads(rest), list), "exec form, or signals do not arrive"
    assert {service["build"]["target"] for service in SERVICES.values() if "build" in service} <= stages


def test_what_the_builder_is_sent_is_all_that_is_copied() -> None:
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for word, rest in steps():
        if word == "COPY" and "--from" not in rest:
            for source in rest.split()[:-1]:
                assert any(Path(source).is_relative_to(folder) for folder in sent), source
    assert all((ROOT / folder).exists() for folder in sent)


@pytest.mark.parametrize("name", ["broker-1", "broker-2", "broker-3"])
def test_brokers_settings_load(name: str) -> None:
    given = {variable: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value) for variable, value in SERVICES[name]["environment"].items()}
    config = BrokerConfig.load(properties_from(given))
    assert not config.without_effect
    assert f"broker-{config.broker_id}" == name
    inside, host = config.advertised_endpoints()
    assert (inside.listener, inside.host, host.host) == ("INTERNAL", name, "127.0.0.1")
    assert SERVICES[name]["ports"][0].startswith("127.0.0.1:")
    assert re.sub(r"\$\{\w+:-(.*?)\}", r"\1", SERVICES[name]["ports"][0]) == f"127.0.0.1:{host.port}:9092"


def test_everything_is_published_to_loopback_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_service_is_hardened_and_looked_after() -> None:
    for name, service in SERVICES.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["restart"], name
        assert "healthcheck" in service or service["profiles"] == ["monitoring"], name
        assert all(
            source in COMPOSE["volumes"] or (DOCKER / source).exists() for source in (v.split(":")[0] for v in service.get("volumes", ()))
        )
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys()
        assert all(dependency in SERVICES for dependency in service.get("depends_on", ()))
    assert sum(1 for word, rest in steps() if word == "USER" and rest == "10001:10001") == 6


def test_every_variable_is_read_by_the_code_and_told_in_the_readme() -> None:
    text, readme = code(), (DOCKER / "README.md").read_text()
    raw = (DOCKER / "compose.yaml").read_text()
    for service in ("console", "live", "worker", "beat", "demo"):
        for variable in SERVICES[service]["environment"]:
            assert f'"{variable.removesuffix("_FILE")}"' in text, variable
    for variable in set(re.findall(r"\$\{(\w+)", raw)):
        assert f"`{variable}`" in readme, variable
        assert variable in BUILD_ARGUMENTS or COMPOSE_ONLY.fullmatch(variable) or f'"{variable}"' in text, variable
    for variable in set(re.findall(r"`(HIGHWATER_\w+|DATABASE_URL)`", readme)):
        assert COMPOSE_ONLY.fullmatch(variable) or f'"{variable}"' in text, variable
    assert ":-}" not in raw, "podman-compose does not understand an empty default"
    assert {rest.partition("=")[0] for word, rest in steps() if word == "ARG"} == BUILD_ARGUMENTS


def test_commands_and_health_checks_name_modules_that_exist() -> None:
    commands = [service["command"] for service in SERVICES.values() if isinstance(service.get("command"), list)]
    checks = [service["healthcheck"]["test"][1:] for service in SERVICES.values() if "healthcheck" in service]
    for command in (*commands, *checks):
        words = " ".join(command).split()
        for module in (after for before, after in itertools.pairwise(words) if before in ("-m", "-A") and "=" not in after):
            assert importlib.util.find_spec(module), module
        if "broker_core.cli.health" in words:
            assert words[words.index("broker_core.cli.health") + 1] in CHECKS
        for after in (after for before, after in itertools.pairwise(words) if before == "manage.py"):
            assert (ROOT / f"console/management/commands/{after}.py").exists(), after


@pytest.mark.parametrize("path", SHELL)
def test_scripts_can_be_parsed_and_run(path: str) -> None:
    assert (ROOT / path).stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(ROOT / path)], check=True)


def test_secrets_are_made_once_and_fit_each_other(tmp_path: Path) -> None:
    script = tmp_path / "secrets.sh"
    script.write_text((DOCKER / "secrets.sh").read_text())
    before: dict[str, str] = {}
    for _ in range(2):
        subprocess.run(["sh", str(script)], check=True)
        made = {path.name: path.read_text().strip() for path in (tmp_path / "secrets").iterdir()}
        assert made.keys() == COMPOSE["secrets"].keys()
        assert f">{made['redis_url'].partition('redis://:')[2].partition('@')[0]} " in made["redis_acl"]
        assert made["postgres_password"] in made["database_url"]
        assert len(made["secret_key"]) >= 40
        assert before in ({}, made)
        before = made
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0
    assert "/docker/secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_what_the_proof_starts_is_every_service_without_a_profile() -> None:
    started = re.search(r'(?m)^services="([^$"]+)', (DOCKER / "prove.sh").read_text())
    assert started and set(started[1].split()) == {name for name, service in SERVICES.items() if "profiles" not in service}
