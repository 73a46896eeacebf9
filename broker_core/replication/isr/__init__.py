"""The in-sync replicas: how they change, who writes that down, and the high watermark that goes by them."""
