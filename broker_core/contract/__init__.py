"""What is said of brokers, partitions and groups on the way from a broker to whoever looks: one set of types for all stations.

`feed` is what a broker tells of itself. The types know nothing of the rest: broker, console and workers import them from here.
Unknown is None. A value is replaced, never changed.
"""
