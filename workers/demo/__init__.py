"""Demo traffic: topics of different shapes, producers and two consumer groups, through an ordinary client library."""
