"""The real world behind the seams: time, tasks, randomness, files and sockets of one operating system process."""
