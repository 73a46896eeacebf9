"""The jars of the real ZooKeeper server: pinned, had from Maven Central at set-up; the same bytes that PySpark's package carries.

`python -m broker_core.local.zookeeper_jars` fetches what is missing, and exits with 1 and a sentence when it cannot be had.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from broker_core.local import maven

ZOOKEEPER_VERSION = "3.9.3"
ARTIFACTS = {
    "org.apache.zookeeper:zookeeper:3.9.3": "ad6570105768d18382a762325b4460368b7089a5a77c053e682b17942e0e72b5",
    "org.apache.zookeeper:zookeeper-jute:3.9.3": "be72e2c9099413a9878ce830b65bb22e0be755dc2a22b290550ab9e03b5b4cfa",
    "org.slf4j:slf4j-api:2.0.16": "a12578dde1ba00bd9b816d388a0b879928d00bab3c83c240f7013bf4196c579a",
    "org.apache.logging.log4j:log4j-api:2.24.3": "5b4a0a0cd0e751ded431c162442bdbdd53328d1f8bb2bae5fc1bbeee0f66d80f",
    "org.apache.logging.log4j:log4j-core:2.24.3": "7eb4084596ae25bd3c61698e48e8d0ab65a9260758884ed5cbb9c6e55c44a56a",
    "org.apache.logging.log4j:log4j-slf4j2-impl:2.24.3": "cdaac22e40ec30c4096e1ebe8c454c8826c0d1c378d7db5d7b3ad166354b0bd3",
    "io.netty:netty-buffer:4.1.118.Final": "0eea4e8666a9636a28722661d8ba5fa8564477e75fec6dd2ff3e324e361f8b3c",
    "io.netty:netty-codec:4.1.118.Final": "4abd215fd1ed7ce86509d169cc9cbede5042176c265a79b3b70602b017226c3f",
    "io.netty:netty-common:4.1.118.Final": "65cce901ecf0f9d6591cc7750772614ab401a84415dc9aec9da4d046f0f9a77c",
    "io.netty:netty-handler:4.1.118.Final": "26e3f8a5e859fd62cf3c13dc6d75e4e18879f000a5d0ad7f58f8679675d23dae",
    "io.netty:netty-resolver:4.1.118.Final": "3170c225972c18b6850d28add60db15bb28d83c4e3d5b686ca220e0bd7273c8a",
    "io.netty:netty-transport:4.1.118.Final": "ab3751e717daef9c8d91e4d74728a48730bd8530b72e2466b222b2ea3fb07db9",
    "io.netty:netty-transport-native-unix-common:4.1.118.Final": "69b16793d7b41ea76a762bd2bd144fc4f7c39c156a7a59ebf69baeb560fb10b7",
    "io.netty:netty-transport-classes-epoll:4.1.118.Final": "bd86e6d41e1f6053f9577931655236259778ab045646e1e6ab04150f070864f3",
    "io.dropwizard.metrics:metrics-core:4.2.30": "8eeac95450c03378d9d4c1dedff7118bb63508a97613f4df074c924e1b82ccfb",
    "org.xerial.snappy:snappy-java:1.1.10.7": "4c766cb3f855415ee734b2392949a0b6f12a60879334a74518deaf6270d32e36",
    "commons-io:commons-io:2.18.0": "f3ca0f8d63c40e23a56d54101c60d5edee136b42d84bfb85bc7963093109cf8b",
    "commons-cli:commons-cli:1.9.0": "d3d530d0f28fd0fbbffe2b0b338f70e8cb96f1605579e2e3abd4db29cac24e69",
}
"""Maven coordinates and the SHA-256 of each jar: 9.8 MB."""


def pinned() -> maven.PinnedJars:
    folder = maven.shared_folder(f"zookeeper-{ZOOKEEPER_VERSION}")
    return maven.PinnedJars(ARTIFACTS, folder, ".venv/bin/python -m broker_core.local.zookeeper_jars")


def main(say: Callable[[str], None] = print) -> int:
    return maven.fetch_and_say(pinned(), "the jars of ZooKeeper", say)


if __name__ == "__main__":
    sys.exit(main())
