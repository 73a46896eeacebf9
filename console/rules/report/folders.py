"""HW-014: data folders that are offline, filling up or nearly full; `console/rules/disk.py` has the thresholds."""

from __future__ import annotations

from broker_core.contract.live import LogDir
from console.rules.disk import FILLING, LOW, OFFLINE
from console.rules.report.facts import Facts
from console.rules.report.finding import Finding, Outcome
from console.rules.words import counted

SENTENCES = {
    OFFLINE: "The data folder {} of broker {} is offline after an I/O error: it wants a restart once the disk is sound.",
    FILLING: "The disk of data folder {} of broker {} fills up within a day at the present rate.",
    LOW: "The disk of data folder {} of broker {} is nearly full.",
}
ADVICE = {
    OFFLINE: "Mend the disk or make room, then restart the broker; its replicas there serve nothing until then.",
    FILLING: "Keep less (retention.ms, retention.bytes), move partitions away, or give the disk more room.",
    LOW: "Keep less (retention.ms, retention.bytes), move partitions away, or give the disk more room.",
}


def folders(facts: Facts) -> Outcome:
    found, untold = [], 0
    for broker in facts.online:
        known = [one for one in (broker.log_dir, *(broker.other_log_dirs or ())) if one is not None]
        untold += not known or any(one.free_bytes is None and one.offline_since_ms is None for one in known)
        found += [_finding(broker.broker_id, one) for one in known if one.level != "ok"]
    why = f"{counted(untold, 'broker')} {'does' if untold == 1 else 'do'} not tell how much room there is" if untold else ""
    return Outcome(found, why or ("" if facts.online else "no broker that runs is known"))


def _finding(broker: int, one: LogDir) -> Finding:
    sentence = SENTENCES[one.state].format(one.path, broker)
    place = f"broker {broker}"
    return Finding(f"{place} {one.path}", one.level, sentence, one.sentence, ADVICE[one.state], f"/brokers/{broker}", place)
