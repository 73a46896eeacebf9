"""JVMs of tests live for half a minute: what they would gain by a second compiler costs them more."""

from __future__ import annotations

SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"}
