"""`python -m broker_core --config server.properties`: one broker process."""

import gc
import sys

sys.modules["hypothesis"] = None  # type: ignore[assignment]  # where it is installed, phantom-types would load it at the first message
gc.disable()  # imports make nothing that could be collected, and an eighth of their time went into looking

from broker_core.server.main import main  # noqa: E402

gc.freeze()
gc.enable()
raise SystemExit(main())
