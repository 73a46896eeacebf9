"""What the controller decides without I/O: who leads, where replicas go, what may be deleted, which state follows which."""
