"""The jars of the real ZooKeeper server: pinned, had from Maven Central at set-up; the same bytes that PySpark's package carries.

`python -m broker_core.local.zookeeper_jars` fetches what is missing, and exits with 1 and a sentence when it cannot be had.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from broker_core.local import maven

ZOOKEEPER_VERSION = "3.9.5"
ARTIFACTS = {
    "org.apache.zookeeper:zookeeper:3.9.5": "936d025db1a85f085edea25048c3f5b3de5fc29329c371a10925e3b78b0b38a0",
    "org.apache.zookeeper:zookeeper-jute:3.9.5": "abcbc7f9d6c493daa118da6fa3061a201e2c521217526e8535adfb56b629e52a",
    "org.slf4j:slf4j-api:2.0.17": "7b751d952061954d5abfed7181c1f645d336091b679891591d63329c622eb832",
    "org.apache.logging.log4j:log4j-api:2.25.4": "c4b642a7f047275215de117e0e3847eb2c7711d84a0aa7433e7b3c096daf341d",
    "org.apache.logging.log4j:log4j-core:2.25.4": "10fee2c0485d54fa44ee75d314f6295508f7b932281873db61a91b88073200e6",
    "org.apache.logging.log4j:log4j-slf4j2-impl:2.25.4": "dd897abc5eb3a6d965426c7937b92dd43e67c82d9819bea5d19f311516c68be3",
    "io.netty:netty-buffer:4.2.13.Final": "39e9ab9ecaff178898a5eb37568096f1efd4f768a7bd162e0cde3eefa19137d5",
    "io.netty:netty-codec:4.2.13.Final": "ead6e40832fac34be975b66d21bbdac005f6e83f643406b146655777fa767d2a",
    "io.netty:netty-codec-base:4.2.13.Final": "a0407d1e9b77e9807aabf367e06602475faab567bfcb8e07ff5bd22c24cd923e",
    "io.netty:netty-common:4.2.13.Final": "cccffbdd68586b5473c67d6ac37145625e7abbfae304e7a512616576b0187697",
    "io.netty:netty-handler:4.2.13.Final": "50efc30aeca2ef21311f2502389e500bfc168c311edb1ae04a2db4d6bb5d7f7f",
    "io.netty:netty-resolver:4.2.13.Final": "2cd68d6a746aeb2ec92923fa168d250526d7ad3dbe1877e7bcbe6e8acdb2c193",
    "io.netty:netty-transport:4.2.13.Final": "d9b2200bfe6e47c2dfa2f0952df6fbdfd42bf58bdd9007e9ac17c789274388c5",
    "io.netty:netty-transport-native-unix-common:4.2.13.Final": "052b8429276ac96bd1f1067ce963b4e57c627ca331071f4df2e63f759234f6b1",
    "io.netty:netty-transport-classes-epoll:4.2.13.Final": "2ed9cf6ca8bee3ae80501938e5fa0b7c20947d704222a774a60ae65d38e0285e",
    "io.dropwizard.metrics:metrics-core:4.2.37": "3c70d19049d10f474ab803706b9c0677bcf5fd9e1afeb4f6c496f62e38b27678",
    "org.xerial.snappy:snappy-java:1.1.10.8": "50485d06037fea3d6e40c968386feeca6338cc9872e25549593ff3eb352cefcc",
    "commons-io:commons-io:2.22.0": "2b9a7b1f726fb86216dbd2c8321eabe0221dbd5b1be81c18e1cb53811b104758",
    "commons-cli:commons-cli:1.11.0": "8f7f8605d68e15bf32db61ec94eac6fdafc51b1bdbe1e0e0802b57d23f387792",
}
"""Maven coordinates and the SHA-256 of each jar: 10.1 MB."""


def pinned() -> maven.PinnedJars:
    folder = maven.shared_folder(f"zookeeper-{ZOOKEEPER_VERSION}")
    return maven.PinnedJars(ARTIFACTS, folder, ".venv/bin/python -m broker_core.local.zookeeper_jars")


def main(say: Callable[[str], None] = print) -> int:
    return maven.fetch_and_say(pinned(), "the jars of ZooKeeper", say)


if __name__ == "__main__":
    sys.exit(main())
