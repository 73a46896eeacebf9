"""What a broker tells of itself: counters and histograms (Prometheus), and the state feed the console watches."""
