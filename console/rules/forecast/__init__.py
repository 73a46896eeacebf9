"""What a broker's stop or death would do to each of its partitions, and how a forecast is graded afterwards. Pure."""
