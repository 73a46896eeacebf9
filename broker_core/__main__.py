"""`python -m broker_core --config server.properties`: one broker process."""

from broker_core.server.main import main

raise SystemExit(main())
