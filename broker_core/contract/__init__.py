"""What is said of brokers, partitions and groups on the way from a broker to whoever looks: one set of types for all stations.

`feed` is what a broker tells of itself, `stored` what the coordination store does; `live`, `partitions` and `groups` are what `live`
makes of both and shows, in `sentences` where it is words; `jobs` is what is told of those, `frames` how a browser gets it all. The types
know nothing of the rest: broker, console and workers import them from here. Unknown is None. A value is replaced, never changed.
"""
