"""A JVM in which Kafka's command-line tools run one after another, unmodified, each by its own `main`.

Starting a JVM for every call would take longer than all calls do. Python reaches this one by py4j, which comes with PySpark. What a tool
prints to stdout or stderr is caught; where it would end the process, Kafka's own `Exit` (made for its tests) says so instead.
"""

from __future__ import annotations

import logging
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from broker_core.local.process import wait_until
from broker_core.local.services import java_binary
from tests.support import kafka_jars

JAVA = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true", "-Dlog4j2.level=OFF")
EXIT = "org.apache.kafka.common.utils.Exit"
CALL_SECONDS = 180.0


class Ran(NamedTuple):
    """The exit status of a tool, and all that it printed."""

    status: int
    text: str


class Ending:
    """What `Exit.exit` calls: notes how the tool ended, and leaves it by an exception, since the JVM goes on. Some tools catch that,
    complain and exit once more."""

    def __init__(self, printed: Callable[[], str]) -> None:
        self._printed = printed
        self.ran: Ran | None = None

    def execute(self, status: int, message: str | None) -> None:
        if self.ran is None:
            self.ran = Ran(status, self._printed())
        raise SystemError("the tool has ended")

    class Java:
        implements = (f"{EXIT}$Procedure",)


class Tools:
    """One JVM; `run` is for one thread at a time."""

    def __init__(self) -> None:
        # It tells of each exception of `Ending` as an error.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        options = [*JAVA, "-Duser.timezone=UTC"]
        port, process = launch_gateway(
            classpath=kafka_jars.tools_classpath(), javaopts=options, die_on_exit=True, java_path=java_binary(), return_proc=True
        )
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auto_convert=True, read_timeout=CALL_SECONDS),
            callback_server_parameters=CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True, accept_timeout=0.2),
            java_process=process,
        )
        self._process: subprocess.Popen[bytes] = process
        self._out = self._catch()
        self._ending = Ending(self._printed)
        self._call_back()

    def _catch(self) -> Any:
        """Scala keeps the stdout that it finds first, so that it is the same for all calls."""
        jvm = self._gateway.jvm
        out = jvm.java.io.ByteArrayOutputStream()
        stream = jvm.java.io.PrintStream(out, True)
        jvm.java.lang.System.setOut(stream)
        jvm.java.lang.System.setErr(stream)
        return out

    def _printed(self) -> str:
        return str(self._out.toString("UTF-8"))

    def _call_back(self) -> None:
        server, port = self._gateway.java_gateway_server, self._gateway.get_callback_server().get_listening_port()
        server.resetCallbackClient(server.getCallbackClient().getAddress(), port)
        ends = self._gateway.jvm.org.apache.kafka.common.utils.Exit
        ends.setExitProcedure(self._ending)
        ends.setHaltProcedure(self._ending)

    def run(self, main: str, arguments: Sequence[str], stdin: str = "") -> Ran:
        """What `java main arguments` would end with; an exception that leaves `main` is status 1 and the last line."""
        jvm = self._gateway.jvm
        self._out.reset()
        self._ending.ran = None
        jvm.java.lang.System.setIn(jvm.java.io.ByteArrayInputStream(stdin.encode()))
        words = self._gateway.new_array(jvm.java.lang.String, len(arguments))
        for number, word in enumerate(arguments):
            words[number] = word
        tool = jvm
        for part in main.split("."):
            tool = getattr(tool, part)
        thrown = ""
        try:
            tool.main(words)
        except Py4JJavaError as error:
            thrown = f"{error.java_exception.toString()}\n"
        if self._ending.ran is not None:
            return self._ending.ran
        return Ran(int(bool(thrown)), self._printed() + thrown)

    def close(self) -> None:
        self._gateway.shutdown()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()


def alone(main: str, arguments: Sequence[str], until: str | None = None, seconds: float = CALL_SECONDS) -> str:
    """What a tool printed as a process of its own, which tells all only at its end, or never ends: then up to some word."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        with path.open("wb") as out:
            command = [java_binary(), *JAVA, "-cp", kafka_jars.tools_classpath(), main, *arguments]
            process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            wait_until(lambda: process.poll() is not None or (until is not None and until in path.read_text()), seconds)
            return path.read_text()
        finally:
            process.kill()
            process.wait()
