"""README's moving picture: a broker is killed and comes back, as a topic's page shows it. Needs a running system (`make up`).

python scripts/picture.py --password … [--data data] [--to docs/recovery.webp]
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Page, ViewportSize, sync_playwright

SIZE: ViewportSize = {"width": 1440, "height": 830}
RAIL = 200
"""Pixels of the menu, which the picture leaves out."""
SHOWN = (960, 642)
STEP_S = 0.5
TOPIC, BROKER = "orders", "2"
CALM_S, DOWN_S, BACK_S = 2.0, 10.0, 12.0


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--url", default="http://127.0.0.1:8000")
    asked.add_argument("--password", required=True)
    asked.add_argument("--data", default="data")
    asked.add_argument("--to", default="docs/recovery.webp")
    given = asked.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        _open(page, given.url, given.password)
        frames = _frames(page, CALM_S)
        _broker(given.data, "kill")
        frames += _frames(page, DOWN_S)
        _broker(given.data, "start")
        frames += _frames(page, BACK_S)
        browser.close()
    first, *rest = frames
    first.save(given.to, save_all=True, append_images=rest, duration=int(STEP_S * 1000), loop=0, quality=60, method=6)
    sys.stdout.write(f"{given.to}: {len(frames)} frames, {Path(given.to).stat().st_size // 1024} KiB\n")


def _open(page: Page, url: str, password: str) -> None:
    page.goto(f"{url}/login")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/")
    page.goto(f"{url}/topics/{TOPIC}")
    for partition in range(3):
        page.locator(f'[data-expand="{partition}"]').click()
    page.evaluate("scrollTo(0, document.querySelector('#h-partitions').getBoundingClientRect().top + scrollY - 80)")


def _frames(page: Page, seconds: float) -> list[Image.Image]:
    """One every `STEP_S`."""
    found = []
    for _ in range(int(seconds / STEP_S)):
        begun = time.monotonic()
        clip: FloatRect = {"x": RAIL, "y": 0, "width": SIZE["width"] - RAIL, "height": SIZE["height"]}
        shot = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
        found.append(shot.resize(SHOWN, Image.Resampling.LANCZOS))
        page.wait_for_timeout(max(0.0, STEP_S - (time.monotonic() - begun)) * 1000)
    return found


def _broker(data: str, action: str) -> None:
    highwater = Path(sys.executable).with_name("highwater")
    subprocess.run([highwater, "--data", data, "broker", action, BROKER], check=True)


if __name__ == "__main__":
    main()
