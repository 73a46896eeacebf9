"""The kinds of jobs, a file each: what one is named, takes, refuses and says. All is pure; `console/actions/jobs.py` asks it, and what a
step does stands in the file of the same name under `workers/kinds/`."""
