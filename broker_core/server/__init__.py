"""The broker as a process: connections, dispatch, assembly; `adapters/` are the real parts of a `Node`."""
