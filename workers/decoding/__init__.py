"""Values by schemas that strangers wrote: a process without network, secrets or Django, which a schema may end without harm."""
